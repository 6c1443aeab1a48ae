"""Serve commands read: against what the parser of vLLM 0.33.0 made of the same words, and what is said of the rest."""
import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.serve_command import read
from calculators.models.serve_flags import (
    BY_DEST,
    BY_NAME,
    CONFIG,
    FLAGS,
    GONE,
    LORA,
    VALUES,
    VERSION,
    flag_called,
    nearest,
)
from calculators.models.shell_words import split

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "serve_parser.json").read_text())


def test_the_table_holds_every_flag_of_the_release():
    assert VERSION == "0.33.0"
    assert len(FLAGS) == 320  # and --help
    assert len(BY_NAME) == len({name for flag in FLAGS for name in (*flag.names, *flag.off)})
    assert not set(GONE) & set(BY_NAME)
    assert (len(VALUES["reasoning-parser"]), len(VALUES["tool-call-parser"])) == (42, 58)


def test_words_are_taken_as_the_engine_took_them():
    """Recorded by running vLLM 0.33.0's own parser; what it took is listed where it differs from the default."""
    for one in RECORDED:
        command = read("vllm serve " + " ".join(shlex.quote(word) for word in one["args"]))
        assert bool(command.sentences) == (one["takes"] is None), one["args"]
        if one["takes"] is not None:
            values = command.values | {"model": command.model}
            assert {name: values.get(name) for name in one["takes"]} == one["takes"], one["args"]
            assert all(value == BY_DEST[name].default for name, value in values.items() if name not in one["takes"]
                       and BY_DEST[name].kind not in (CONFIG, LORA)), one["args"]


def test_short_names_underscores_equals_and_sizes_are_read():
    command = read("vllm serve org/m -tp 2 -pp=4 --max_model_len=32K --max-num-batched-tokens 8k -n2 -O3")
    assert command.values == {
        "tensor_parallel_size": 2, "pipeline_parallel_size": 4, "max_model_len": 32_768,
        "max_num_batched_tokens": 8_000, "nnodes": 2, "optimization_level": 3,
    }


def test_line_ends_quotes_environment_and_a_pipe_are_read():
    command = read("""
        # two nodes
        export NCCL_DEBUG=INFO
        VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve org/m \\
          --kv-transfer-config '{"kv_connector":"NixlConnector",
                                 "kv_role":"kv_producer"}' \\
          --served-model-name "my model" other 2>&1 | tee log
    """)
    assert not command.sentences
    assert command.env == {"NCCL_DEBUG": "INFO", "VLLM_NIXL_SIDE_CHANNEL_PORT": "5600"}
    assert command.values["kv_transfer_config"] == {"kv_connector": "NixlConnector", "kv_role": "kv_producer"}
    assert command.values["served_model_name"] == ["my model", "other"]


def test_keys_after_a_dot_make_one_value():
    command = read("vllm serve org/m --compilation-config.mode 3 -cc.cudagraph_mode=PIECEWISE -sc.method ngram")
    assert command.values["compilation_config"] == {"mode": 3, "cudagraph_mode": "PIECEWISE"}
    assert command.values["speculative_config"] == {"method": "ngram"}


def test_a_module_an_image_and_bare_flags_are_commands_too():
    for start in ("python -m vllm.entrypoints.openai.api_server", "docker run --gpus all vllm/vllm-openai:v0.33.0",
                  "venv/bin/vllm serve", "$ vllm serve", ""):
        assert read(f"{start} --model org/m -tp 2").model == "org/m"


@pytest.mark.parametrize("text, said", [
    ("--tensor-paralel-size 4", "0.33.0 has no flag --tensor-paralel-size; the nearest is --tensor-parallel-size."),
    ("--swap-space 4", "--swap-space was removed. There is no swapping to CPU memory any more"),
    ("--enable-lora=false", "--enable-lora takes no value; write --disable-lora."),
    ("--dtype bf16", "--dtype does not take “bf16”; did you mean bfloat16?"),
    ("--max-num-seqs many", "--max-num-seqs takes a whole number, not “many”."),
    ("--max-num-seqs $SEQS", "--max-num-seqs: the shell fills in “$SEQS”; put its value there."),
    ("--kv-cache-memory-bytes 20GiB", "takes a whole number, 8K (8,192) or 8k (8,000), not “20GiB”."),
    ("--max-model-len 1.5K", "1.5k is taken."),
    ("--max-loras", "--max-loras needs a value."),
    ("--eplb-config '{\"redundant\":1}'", "--eplb-config has no key “redundant”"),
    ("--eplb-config.num_redundant_experts x", "takes a whole number, not “\"x\"”."),
    ("--speculative-config {'method':'ngram'}", "is no JSON."),
    ("–max-num-seqs 4", "typesetter’s dash"),
    ("--max-num-seqs 4 \\ \n --seed 1", "a space stands after the backslash"),
    ("--max-num-seqs 4\n --seed 1", "Line 2: no backslash ends the line before it"),
    ("--api-key 'abc", "a quote is opened and never closed."),
    ("other", "“other” belongs to no flag; the model is org/m."),
    ("--watermark -0.5", "write it after the flag’s =."),
    ("--enable-log 1", "--enable-log may be --enable-log-outputs"),
])
def test_what_the_engine_refuses_is_said(text, said):
    assert said in " ".join(read(f"vllm serve org/m {text}").sentences)


@pytest.mark.parametrize("text", ["-sc." + "a." * 3_000 + "b 1", "-cc.x " + "[" * 5_000 + "]" * 5_000,
                                  "--hf-overrides '" + '{"a":' * 400 + "1" + "}" * 400 + "'"])
def test_what_is_nested_beyond_use_is_not_kept(text):
    assert len(json.dumps(read(f"vllm serve org/m {text}").values)) < 20_000


def test_the_work_for_unknown_flags_is_bounded():
    unknown = read("vllm serve org/m " + " ".join(f"--max-num-seq{n}" for n in range(400))).unknown
    assert sum(bool(one.near) for one in unknown) == 30


@pytest.mark.parametrize("text", ["", "ls -l", "vllm bench serve", "'"])
def test_other_commands_are_said_to_be_none(text):
    assert "No vllm serve command is in it" in " ".join(read(text).sentences)


@pytest.mark.parametrize("word, near", [
    ("--max-num-sequences", "--max-num-seqs"), ("--gpu-memory-utilisation", "--gpu-memory-utilization"),
    ("--tp", "--tensor-parallel-size"), ("--kv-dtype", "--kv-cache-dtype"),
    ("--prefix-caching", "--enable-prefix-caching"), ("--max-batched-tokens", "--max-num-batched-tokens"),
    ("--num-speculative-tokens", "--speculative-config.num_speculative_tokens"), ("--xyzzy", ""),
])
def test_the_nearest_spelling_is_named(word, near):
    assert nearest(word) == near


def test_every_short_and_negative_form_finds_its_flag():
    assert flag_called("-dpl").name == "--data-parallel-size-local"
    assert flag_called("--no-enable-prefix-caching") is flag_called("--disable-prefix-caching")
    assert flag_called("--enable-prefix-caching").negative == "--disable-prefix-caching"
    assert flag_called("--async-scheduling").negative == "--no-async-scheduling"


LIKELY = st.sampled_from([*BY_NAME, "vllm", "serve", "=", " ", "\\\n", "'", '"', "{", "}", "-cc.", "8K", "None", "-1",
                          "$X", "|", "--", "-O", "nan", "1e999", '{"a":1}', "[" * 40, "\x00", "９", "é"])


@settings(max_examples=80, deadline=None)
@given(st.lists(LIKELY | st.text(max_size=8), max_size=20).map(" ".join) | st.text(max_size=200))
def test_any_text_is_read_or_said(text):
    command = read("vllm serve " + text)
    json.dumps(command.values, allow_nan=False)
    assert all(one.flag in FLAGS for one in command.given)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs",)), min_size=1), max_size=6))
def test_quoted_words_come_back_as_they_were(words):
    """shlex quotes as a POSIX shell reads."""
    assert [word.text for word in split(" ".join(map(shlex.quote, words))).words] == words
