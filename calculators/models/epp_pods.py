"""The pods an endpoint picker chooses from, written as one text, and the filters that a request puts them through."""
import re
from collections.abc import Mapping
from dataclasses import dataclass

from calculators.models.base import Refusal

CHAT, PREFILL_STAGE, LORA, COLD, LONG = "chat", "prefill", "lora", "cold", "long"
DECODE, PREFILL = "decode", "prefill"
ADAPTER = "sql-v2"
MOST_PODS = 12
LONGEST_QUEUE = 10_000
POD = re.compile(r"(?P<name>[A-Za-z0-9-]{1,16})(@(?P<role>[a-z]+))?:(?P<prefix>\d?\.?\d{1,6})/(?P<queue>\d{1,5})"
                 r"/(?P<kv>\d?\.?\d{1,6})(?P<adapters>(\+[A-Za-z0-9-]{1,16})*)(?P<sick>!)?")


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod as the picker last saw it.

    `role` is decode, prefill, or "" without a label; `prefix` is the share of the prompt's blocks that it holds from
    the start on, `queue` its waiting requests, `kv_used` a share.
    """

    name: str
    role: str
    prefix: float
    queue: int
    kv_used: float
    adapters: tuple[str, ...] = ()
    healthy: bool = True

    @property
    def serves(self) -> str:
        """What it serves, in words: "base, sql-v2"."""
        return ", ".join(("base", *self.adapters))


def parse_pods(text: str) -> tuple[Pod, ...]:
    """Pods parted by commas, each as "decode-1@decode:0.9/6/0.72+sql-v2!".

    Name, role, prefix / queue / KV used, adapters, and a mark of one that is not healthy.
    Raises Refusal with a sentence that names the entry.
    """
    pods: list[Pod] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        if (found := POD.fullmatch(entry)) is None:
            raise Refusal(f"“{entry[:40]}” is no pod; one reads decode-1@decode:0.9/6/0.72, then +{ADAPTER} or !")
        pods.append(checked(found.groupdict(), entry))
    if not 1 <= len(pods) <= MOST_PODS:
        raise Refusal(f"{len(pods)} pods; takes from 1 to {MOST_PODS}.")
    names = [pod.name for pod in pods]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Refusal(f"{twice} stands there twice.")
    return tuple(pods)


def checked(parts: Mapping[str, str | None], entry: str) -> Pod:
    """The pod of one matched entry, its role and its shares within what they can be."""
    role, prefix, queue, kv_used = parts["role"] or "", float(parts["prefix"]), int(parts["queue"]), float(parts["kv"])
    if role not in ("", DECODE, PREFILL):
        raise Refusal(f"“{entry[:40]}”: a role is {DECODE} or {PREFILL}, or left out.")
    if max(prefix, kv_used) > 1:
        raise Refusal(f"“{entry[:40]}”: prefix and KV used are shares, from 0 to 1.")
    if queue > LONGEST_QUEUE:
        raise Refusal(f"“{entry[:40]}”: a queue is at most {LONGEST_QUEUE:,}.")
    adapters = tuple(filter(None, parts["adapters"].split("+")))
    return Pod(parts["name"], role, prefix, queue, kv_used, adapters, parts["sick"] is None)


def format_pods(pods: tuple[Pod, ...]) -> str:
    """The same as a text that parses back."""
    return ",".join(
        f"{pod.name}{pod.role and '@' + pod.role}:{share(pod.prefix)}/{pod.queue}/{share(pod.kv_used)}"
        f"{''.join('+' + name for name in pod.adapters)}{'' if pod.healthy else '!'}"
        for pod in pods
    )


def share(value: float) -> str:
    """A share without needless zeros: "0.9", "0"."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def filtered(pod: Pod, request: str, *, role: bool, health: bool, adapter: bool) -> str:
    """Why a pod may not take the request, "" when it may; of several reasons the first.

    Source: llm-d-inference-scheduler, decode-filter (passes a pod without a role label) and prefill-filter (does not).
    """
    if health and not pod.healthy:
        return "not healthy"
    if role and request == PREFILL_STAGE and pod.role != PREFILL:
        return f"role is {pod.role}" if pod.role else "no role"
    if role and request != PREFILL_STAGE and pod.role == PREFILL:
        return f"role is {PREFILL}"
    if adapter and request == LORA and ADAPTER not in pod.adapters:
        return f"lacks {ADAPTER}"
    return ""
