"""Start-up configurations read from text: the engine's line as several releases write it, commands, flags, pairs."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.config_text import (
    MOST_FAULTS,
    Setting,
    format_settings,
    parse_settings,
    parts,
    plain,
    read,
    version_of,
)

# As public logs have it, shortened.
V0_10 = (
    "INFO 09-09 15:33:07 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='Qwen/Qwen3-8B', "
    "speculative_config=None, override_neuron_config={}, dtype=torch.bfloat16, max_seq_len=40960, "
    "load_format=LoadFormat.AUTO, quantization=fp8, kv_cache_dtype=auto,  device_config=cuda, "
    "decoding_config=DecodingConfig(backend='auto', disable_fallback=False), chunked_prefill_enabled=False, "
    "compilation_config={\"level\":3,\"custom_ops\":[],\"use_cudagraph\":true,"
    "\"cudagraph_capture_sizes\":[512,504,496,488,8,4,2,1],\"full_cuda_graph\":false,\"max_capture_size\":512,"
    "\"local_cache_dir\":null}"
)
V0_19 = (
    "(EngineCore pid=1992630) INFO 08-26 22:26:28 [core.py:105] Initializing a V1 LLM engine (v0.19.1) with config: "
    "model='Qwen/Qwen3-8B', speculative_config=None, dtype=torch.bfloat16, max_seq_len=4096, "
    "structured_outputs_config=StructuredOutputsConfig(backend='auto', reasoning_parser=''), seed=0, "
    "enable_chunked_prefill=True, pooler_config=None, compilation_config={'level': None, "
    "'mode': <CompilationMode.VLLM_COMPILE: 3>, 'custom_ops': ['none'], "
    "'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, "
    "'cudagraph_capture_sizes': [1, 2, 4, 8, 16, 24, 32], "
    "'pass_config': {'fuse_norm_quant': False}, 'max_cudagraph_capture_size': 32}"
)


def sides(text: str) -> tuple[dict[str, str], ...]:
    return tuple(config.settings for config in read(text).configs)


def test_two_releases_are_told_by_the_names_of_today() -> None:
    old, new = sides(f"{V0_10}\n{V0_19}")
    assert (old["version"], new["version"]) == ("0.10.0", "0.19.1")
    assert (old["max_model_len"], old["enable_chunked_prefill"]) == ("40960", "False")
    assert (old["mode"], new["mode"]) == ("VLLM_COMPILE", "VLLM_COMPILE")  # 'level': 3 and an enum
    assert (old["cudagraph_mode"], new["cudagraph_mode"]) == ("PIECEWISE", "FULL_AND_PIECEWISE")
    assert (old["max_cudagraph_capture_size"], old["load_format"], old["dtype"]) == ("512", "auto", "bfloat16")
    assert (old["structured_outputs_config.backend"], new["structured_outputs_config.backend"]) == ("auto", "auto")
    assert (old["cudagraph_capture_sizes"], new["cudagraph_capture_sizes"]) == ("[1 2 4 8 488-512/8]", "[1 2 4 8-32/8]")
    assert new["pass_config.fuse_norm_quant"] == "False"
    assert read(f"{V0_10}\n{V0_19}").faults == ()


def test_other_lines_of_a_log_belong_to_the_start_they_stand_by() -> None:
    log = ("INFO x [api_server.py:1] vLLM API server version 0.33.0\n"
           "INFO x [utils.py:1] non-default args: {'model': 'Qwen/Qwen3-8B', 'max_num_seqs': 64}\n"
           "INFO x [scheduler.py:1] Chunked prefill is enabled with max_num_batched_tokens=8192.\n"
           f"{V0_19.replace('0.19.1', '0.33.0')}\n"
           "INFO x [gpu_worker.py:1] Using V2 Model Runner\n"
           "INFO x [cuda.py:1] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].\n"
           "INFO x [weights.py:1] Loading took 3 seconds\n"
           "INFO x [kv_cache_utils.py:1] GPU KV cache size: {} tokens\n")
    first, second = sides(log.replace("{}", "445,632") + log.replace("{}", "405,000"))
    assert (first["kv_tokens"], second["kv_tokens"]) == ("445632", "405000")
    assert (second["max_num_seqs"], second["max_num_batched_tokens"]) == ("64", "8192")
    assert (second["model_runner"], second["attention_backend"]) == ("V2", "FLASH_ATTN")
    assert read(log * 2).faults == ()


def test_what_is_said_ahead_of_a_line_belongs_to_it() -> None:
    chunked = "INFO x [scheduler.py:1] Chunked prefill is enabled with max_num_batched_tokens={}."
    first, second = sides("\n".join((chunked.format(2048), V0_10, chunked.format(8192), V0_19)))
    assert (first["max_num_batched_tokens"], second["max_num_batched_tokens"]) == ("2048", "8192")


def test_a_fall_back_stands_for_what_was_asked_for() -> None:
    warned = ("WARNING x [compilation.py:1] CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for "
              "attention backend CUTLASS_MLA (support: UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE\n"
              "WARNING x [vllm.py:1] Model Runner V2 does not yet support speculative method 'suffix'; using the V1 "
              "model runner instead.\n"
              "WARNING x [vllm.py:1] Async scheduling is disabled because the V1 model runner does not support it.\n")
    first, second = sides(f"{V0_19}\n---\n{V0_19}\n{warned}")
    fell = {name: value for name, value in second.items() if first.get(name) != value}
    assert fell == {"cudagraph_mode": "PIECEWISE", "model_runner": "V1", "async_scheduling": "False"}


def test_the_ranks_of_one_start_are_one_configuration() -> None:
    ranks = [V0_19.replace("(EngineCore pid", f"\x1b[1;36m(EngineCore_DP{rank} pid") for rank in (0, 1)]
    later = [line.replace("v0.19.1", "v0.33.0") for line in ranks]
    assert [side["version"] for side in sides("\n".join(ranks + later))] == ["0.19.1", "0.33.0"]


def test_a_line_that_a_terminal_broke_is_joined() -> None:
    broken = V0_19.replace("'custom_ops'", "\n'custom_ops'").replace("pooler_config", "pool\ner_config")
    assert sides(f"{broken}\n{V0_10}")[0]["cudagraph_mode"] == "FULL_AND_PIECEWISE"


def test_commands_and_flags_are_read_as_the_parser_takes_them() -> None:
    first, second = sides("vllm serve Qwen/Qwen3-8B -tp 2 \\\n  --compilation-config.mode 3 "
                          "--no-enable-prefix-caching\n\n"
                          "VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve Qwen/Qwen3-8B --max-num-seqs=512")
    assert first == {"model": "Qwen/Qwen3-8B", "tensor_parallel_size": "2", "enable_prefix_caching": "False",
                     "mode": "VLLM_COMPILE"}
    assert second == {"model": "Qwen/Qwen3-8B", "max_num_seqs": "512", "VLLM_ATTENTION_BACKEND": "FLASHINFER"}
    flags = read("--max-num-seqs 256\n--swap-space 4\n\n--max-num-seqs 512\n--async-scheduling")
    assert [config.settings for config in flags.configs] == [
        {"max_num_seqs": "256"}, {"max_num_seqs": "512", "async_scheduling": "True"},
    ]
    assert len(flags.faults) == 1 and flags.faults[0].startswith("Line 2: ") and "--swap-space" in flags.faults[0]


def test_a_yaml_list_and_a_servers_namespace_are_read() -> None:
    text = (
        "args:\n  - --max-num-seqs=256\n  - --async-scheduling\n---\n"
        "INFO x [api_server.py:1034] args: Namespace(subparser='serve', max_num_seqs=None, max_model_len=None, "
        "gpu_memory_utilization=0.9, dispatch_function=<function cmd at 0x7f1>)\n" + V0_10
    )
    first, second = sides(text)
    assert read(text).faults == ()
    assert first == {"max_num_seqs": "256", "async_scheduling": "True"}
    assert (second["gpu_memory_utilization"], second["max_model_len"], second["version"]) == ("0.9", "40960", "0.10.0")


def test_pairs_and_json_are_read() -> None:
    first, second = sides('kv_tokens=440k, runner=V1\nreserve_full_isl: off\n---\n{\n "max_num_seqs": 64,\n '
                          '"compilation_config": {"cudagraph_mode": "NONE"}\n}')
    assert first == {"kv_tokens": "440k", "model_runner": "V1", "scheduler_reserve_full_isl": "False"}
    assert second == {"max_num_seqs": "64", "cudagraph_mode": "NONE"}


@pytest.mark.parametrize(("text", "fault"), [
    ("a=1\nwhat is this\n---\nb=2", "Line 2: “what is this” is no setting that can be read."),
    (f"a=1\n---\n{V0_19[:-40]}", "Line 3: it breaks off before its brackets close; what stands before is read."),
    ("a=1\n---\nb=2\n---\nc=3", "Line 5: a third configuration begins; the first two are compared, and the rest is not "
                                "read."),
    ("a=1\n---\nb=", "Line 3: “b=” has no value."),
])
def test_what_cannot_be_read_is_said_with_its_line(text: str, fault: str) -> None:
    assert fault in read(text).faults


def test_many_faults_are_counted() -> None:
    faults = read("???\n" * 50).faults
    assert len(faults) == MOST_FAULTS + 1 and faults[-1] == "And 38 lines more."


def test_a_broken_off_line_keeps_what_stands_before() -> None:
    assert sides(f"{V0_19[:-40]}\n---\na=1")[0]["cudagraph_mode"] == "FULL_AND_PIECEWISE"


@pytest.mark.parametrize(("text", "value"), [
    ("'auto'", "auto"), ("true", "True"), ("null", "None"), ("torch.bfloat16", "bfloat16"), ("[]", "[]"),
    ("<CUDAGraphMode.NONE: 0>", "NONE"), ("[1, 2, 3]", "[1 2 3]"), ("[8, 16, 24, 32]", "[8-32/8]"), ("a; b", "a, b"),
    ("a,b", "a, b"), ("445,632", "445632"), ("445, 632", "445632"),
])
def test_values_are_written_in_one_way(text: str, value: str) -> None:
    assert plain(text) == value


def test_long_values_stay_apart() -> None:
    long = [f"[{', '.join(repr(f'vllm::op_{n}_{last}') for n in range(20))}]" for last in "ab"]
    assert plain(long[0]) != plain(long[1]) and len(plain(long[0])) < 30


def test_a_release_is_told_by_its_first_two_numbers() -> None:
    assert [version_of({"version": text}) for text in ("0.33.0", "v0.9.2rc1.dev4", "main")] == [(0, 33), (0, 9), None]


@pytest.mark.parametrize("text", ["", "  ;  ", "a", "a=", "=b", "1=2"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_settings(text)


PIECES = st.sampled_from([
    "Initializing a V1 LLM engine (v0.33.0) with config: ", "non-default args: {", "vllm serve m ", "--max-num-seqs 4",
    "a=1", "'k': <X.Y: (1, 2)>", "{", "}", "(", ")", "[", "]", "<", ">", "'", '"', ",", ";", "\n", "\n\n", "---\n", "=",
    ":", "\\", "\x00", "💥", "INFO ", "9" * 400, "None", "model=C(a=1, b={'c': [1, 2]})",
])


@settings(max_examples=80, deadline=None)
@given(text=st.lists(PIECES | st.text(max_size=8), max_size=25).map("".join))
def test_any_text_is_read_and_comes_back_from_the_form(text: str) -> None:
    for config in read(text).configs:
        kept = tuple(Setting(*pair) for pair in config.settings.items())
        again = parse_settings(format_settings(kept))
        assert {name for name, _ in again} <= {name for name, _ in kept} | {"structured_outputs_config.backend"}
        assert parse_settings(format_settings(again)) == again
    assert "".join(parts(text)[0]).count("x") <= text.count("x")
