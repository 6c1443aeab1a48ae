"""Start-up lines read: the forms of several releases, and what is said of lines that can't be."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.memory_ledger import solve
from calculators.models.startup_log import MEASURED, NOTHING, read

CONFIG = (
    "(EngineCore pid=2) INFO [core.py:105] Initializing a V1 LLM engine (v{version}) with config: model='{model}', "
    "speculative_config=None, dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size={tp}, "
    "pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype={kv}, device_config=cuda"
)
OLDER = "\n".join((  # a public log of vLLM 0.19.0 on an H100, its lines that say something of memory
    CONFIG.format(version="0.19.0", model="meta-llama/Llama-3.1-8B-Instruct", tp=1, kv="auto"),
    "non-default args: {'max_model_len': 8192, 'gpu_memory_utilization': 0.95, 'enable_prefix_caching': False}",
    "Chunked prefill is enabled with max_num_batched_tokens=8192.",
    "Defaulting max_num_seqs to 1024 for OPENAI_API_SERVER usage context.",
    "worker init memory snapshot: torch_peak=0.0GiB, free_memory=78.68GiB, total_memory=79.19GiB, cuda_memory=0.51GiB",
    "Model loading took 14.99 GiB memory and 14.948613 seconds",
    "Memory profiling takes 17.96 seconds. Total non KV cache memory: 17.12GiB; torch peak memory increase: 1.89GiB; "
    "non-torch forward increase memory: 0.25GiB; weights memory: 14.99GiB.",
    "Available KV cache memory: 58.11 GiB",
    "GPU KV cache size: 476,016 tokens, Maximum concurrency for 8,192 tokens per request: 58.11x",
    "CUDA graph pool memory: 0.91 GiB (actual), 0.84 GiB (estimated), difference: 0.07 GiB (7.7%).",
))
NEWER = "\n".join((  # the forms of 0.33.0, v1/worker/gpu_worker.py
    CONFIG.format(version="0.33.0", model="meta-llama/Llama-3.1-8B", tp=1, kv="fp8"),
    "Model loading took 14.99 GiB memory and 9.1 seconds", "Available KV cache memory: 54.10 GiB",
    "Free memory on device (78.59/79.19 GiB) on startup. Desired GPU memory utilization is (0.92, 72.85 GiB). Actual "
    "usage is 15.95 GiB for consumed memory (weights + non-torch), 2.80 GiB for peak activation, and 0.95 GiB for "
    "CUDAGraph memory. Current kv cache memory in use is 54.1 GiB.",
    "CUDA graph pool memory: 0.95 GiB (actual), 0.90 GiB (estimated), difference: 0.05 GiB (5.3%).",
))


def told(text: str) -> dict:
    """The values that a text gives, without what it empties."""
    return {name: value for name, value in read(text).values.items() if value is not None}


def test_a_log_of_019():
    assert told(OLDER) == {
        "version": "0.18", "model": "llama-3.1-8b", "weights": "bf16", "kv_cache_dtype": "bf16",
        "tensor_parallel_size": 1, "gpu_memory_utilization": 0.95, "max_model_len": 8_192,
        "max_num_batched_tokens": 8_192, "max_num_seqs": 1_024, "visible_gib": 79.19, "baseline_gib": 0.51,
        "weights_gib": 14.99, "activation_gib": 1.89, "non_torch_gib": 0.25, "available_gib": 58.11,
        "graphs_gib": 0.84, "graphs_actual_gib": 0.91,
    }
    assert read(OLDER).faults == ()
    ledger = solve(**read(OLDER).values)
    assert ledger.kv_tokens == pytest.approx(476_016, rel=1e-4) and ledger.starts


def test_a_log_of_033_in_whose_peak_the_graphs_are():
    values = told(NEWER)
    assert (values["activation_gib"], values["graphs_gib"], values["kv_cache_dtype"]) == (1.9, 0.9, "fp8")
    ledger = solve(**read(NEWER).values)
    assert ledger.kv_gib == pytest.approx(54.10)
    assert ledger.loaded_gib + ledger.buffers_gib + ledger.growth_gib == pytest.approx(15.95, abs=0.02)


@pytest.mark.parametrize(("line", "values"), [
    ("Model loading took 14.9889 GiB and 3.652170 seconds", {"weights_gib": 14.9889}),
    ("Loading model weights took 14.9888 GB", {"weights_gib": 14.9888}),
    ("model weights take 21.21GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 0.37GiB; the "
     "rest of the memory reserved for KV Cache is 1.57GiB.",
     {"weights_gib": 21.21, "non_torch_gib": 0.20, "activation_gib": 0.37, "available_gib": 1.57}),
    ("the current vLLM instance can use total_gpu_memory (23.58GiB) x gpu_memory_utilization (0.99) = 23.35GiB",
     {"visible_gib": 23.58, "gpu_memory_utilization": 0.99}),
    ("Estimated CUDA graph memory: 0.36 GiB total", {"graphs_gib": 0.36}),
    ("Graph capturing finished in 4 secs, took 0.91 GiB", {"graphs_actual_gib": 0.91}),
    ("Actual usage is 14.99 GiB for weight, 1.2 GiB for peak activation, 0.1 GiB for non-torch memory, and 0.9 GiB for "
     "CUDAGraph memory.",
     {"weights_gib": 14.99, "activation_gib": 1.2, "non_torch_gib": 0.1, "graphs_actual_gib": 0.9}),
    ("ValueError: Free memory on device cuda:0 (69.69/79.19 GiB) on startup is less than desired GPU memory "
     "utilization (0.92, 72.85 GiB).",
     {"visible_gib": 79.19, "baseline_gib": 9.5, "gpu_memory_utilization": 0.92}),
    ("To serve at least one request with the model's max seq len (131072), (20.0 GiB KV cache is needed, which is "
     "larger than the available KV cache memory (0.91 GiB).", {"max_model_len": 131_072, "available_gib": 0.91}),
])
def test_one_line_of_its_kind(line: str, values: dict):
    assert told(f"(Worker_TP0 pid=1) INFO 07-25 13:42:16 [gpu_worker.py:1] {line}") == values


def test_what_a_log_does_not_say_is_emptied():
    values = read("Available KV cache memory: 58.11 GiB").values
    assert set(values) == set(MEASURED) and values["weights_gib"] is None


def test_of_two_ranks_the_least_counts_and_is_said():
    pasted = read("Available KV cache memory: 6.87 GiB\nAvailable KV cache memory: 6.80 GiB")
    assert pasted.values["available_gib"] == 6.80
    assert pasted.faults == ("Line 2: another rank has 6.8 GiB for KV; the least counts.",)


@pytest.mark.parametrize(("text", "fault"), [
    ("hello", NOTHING), ("", NOTHING),
    ("Available KV cache memory: lots", "Line 1: no figure can be read after “Available KV cache memory”."),
    (CONFIG.format(version="0.19.0", model="someone/unheard-of", tp=1, kv="auto"), "The catalogue has no someone/"),
    (CONFIG.format(version="0.6.3", model="meta-llama/Llama-3.1-8B", tp=1, kv="auto"), "older than the rules"),
    (CONFIG.format(version="0.33.0", model="meta-llama/Llama-3.1-8B", tp=1, kv="turboquant_4bit"), "A KV cache"),
])
def test_what_cannot_be_read_is_said(text: str, fault: str):
    assert any(fault in sentence for sentence in read(text).faults)


def test_a_log_of_many_torn_lines_lists_a_few():
    torn = "Available KV cache memory: ?\n" * 400 + "Model loading took 14.99 GiB"
    assert len(read(torn).faults) == 13 and read(torn).faults[-1] == "And 388 lines more."


@given(st.lists(st.sampled_from(OLDER.splitlines() + NEWER.splitlines()), max_size=8),
       st.text(alphabet="0123456789.,GiB- '\"(){}:=ax\n", max_size=40), st.integers(0, 300))
def test_any_torn_log_is_read(lines: list[str], noise: str, place: int):
    text = "\n".join(lines)
    pasted = read(text[:place] + noise + text[place:])
    assert pasted.values or pasted.faults
