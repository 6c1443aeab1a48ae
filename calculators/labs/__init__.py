"""Every lab by its slug, in the order shown."""
from calculators.labs import (
    batch_ceilings,
    gpu_count,
    kv_size,
    memory_ledger,
    prefill_interference,
    recompute_or_move,
    scheduler,
)
from calculators.labs.base import Lab

LABS: dict[str, Lab] = {
    lab.slug: lab
    for lab in (scheduler.LAB, prefill_interference.LAB, batch_ceilings.LAB, recompute_or_move.LAB, kv_size.LAB,
                gpu_count.LAB, memory_ledger.LAB)
}
