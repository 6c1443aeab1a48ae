"""Every lab by its slug, in the order shown."""
from calculators.labs import (
    acceptance,
    attention_backends,
    batch_ceilings,
    beam_blocks,
    config_diff,
    cuda_graphs,
    detokenizer,
    engine_loop,
    epp,
    gpu_count,
    grammar,
    kv_size,
    kv_transfer,
    leak_rate,
    lora,
    memory_ledger,
    ngram,
    prefill_interference,
    prefix_cache,
    recompute_or_move,
    roofline,
    sampling,
    scheduler,
    serve_command,
    speculation,
    wide_ep,
)
from calculators.labs.base import Lab

LABS: dict[str, Lab] = {
    lab.slug: lab
    for lab in (engine_loop.LAB, detokenizer.LAB, scheduler.LAB, prefill_interference.LAB, batch_ceilings.LAB,
                recompute_or_move.LAB, kv_size.LAB, prefix_cache.LAB, beam_blocks.LAB, gpu_count.LAB,
                memory_ledger.LAB, leak_rate.LAB,
                sampling.LAB, ngram.LAB, acceptance.LAB, grammar.LAB, speculation.LAB, lora.LAB, cuda_graphs.LAB,
                attention_backends.LAB, roofline.LAB, config_diff.LAB, wide_ep.LAB, kv_transfer.LAB,
                epp.LAB, serve_command.LAB)
}
