"""What each stage of a sampler does to one row of logits, in fp32 as the engine computes it; -inf is a token gone."""
import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
GONE = np.float32("-inf")
LEAST_TEMPERATURE = 0.01  # a lower one is raised to it, 0 apart


def row(values: list[float]) -> Logits:
    """One row of logits."""
    return np.array(values, dtype=np.float32)


def softmax(logits: Logits) -> Logits:
    """Probabilities; at least one logit must be finite."""
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def log_softmax(logits: Logits) -> Logits:
    """Natural logarithms of the probabilities of finite logits."""
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def penalised(logits: Logits, uses: Logits, seen: NDArray[np.bool_], *, repetition: float, frequency: float,
              presence: float) -> Logits:
    """Repetition divides a positive logit and multiplies a negative one of each token `seen`, in prompt or output.

    Frequency and presence go by `uses`, the counts in the output alone.
    Source: vllm/v1/worker/gpu/sample/penalties.py, _penalties_kernel.
    """
    factor = np.float32(repetition)
    scale = np.where(logits > 0, np.float32(1) / factor, factor)  # the engine multiplies by 1 / factor, too
    logits = np.where(seen, logits * scale, logits)
    return logits - np.float32(frequency) * uses - np.float32(presence) * (uses > 0)


def tempered(logits: Logits, temperature: float) -> Logits:
    """Divide by the temperature, which is above 0; -inf stays."""
    return logits / np.float32(max(temperature, LEAST_TEMPERATURE))


def min_p(logits: Logits, share: float) -> Logits:
    """Keep what has at least this share of the largest probability.

    Source: vllm/v1/sample/logits_processor/builtin.py, MinPLogitsProcessor.apply.
    """
    probabilities = softmax(logits)
    return np.where(probabilities < np.float32(share) * probabilities.max(), GONE, logits)


def top_k(logits: Logits, k: int) -> Logits:
    """Keep what is not below the k-th largest, so all that tie with it stay; 0 keeps everything."""
    if k <= 0 or k >= len(logits):
        return logits
    return np.where(logits < np.sort(logits)[-k], GONE, logits)


def top_p(logits: Logits, p: float) -> Logits:
    """Keep the largest that reach p together, the one that crosses it too, and never none.

    From the smallest up, what has summed to at most 1 - p goes.
    Source: vllm/v1/sample/ops/topk_topp_sampler.py, apply_top_k_top_p_pytorch.
    """
    if p >= 1:
        return logits
    ascending = np.argsort(logits, kind="stable")
    summed = np.cumsum(softmax(logits[ascending]), dtype=np.float64).astype(np.float32)
    goes = summed <= np.float32(1) - np.float32(p)
    goes[-1] = False
    kept = logits.copy()
    kept[ascending[goes]] = GONE
    return kept
