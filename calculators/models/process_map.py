"""The processes of `vllm serve`: five roles, and how many of each a command starts."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal

INTERNAL, HYBRID, EXTERNAL = "internal", "hybrid", "external"
PATH = (
    ("API server", "HTTP, chat template, tokenising, checks"),
    ("→ ZeroMQ", "msgpack, ROUTER to DEALER"),
    ("EngineCore", "schedule: {request: tokens}, no prefill phase"),
    ("→ shared memory", "pickled once for all workers"),
    ("GPU worker", "inputs, forward, sampling"),
    ("→ shared memory", "sampled tokens, from one rank alone"),
    ("EngineCore", "update, stops, blocks freed"),
    ("→ ZeroMQ", "msgpack, PUSH to PULL"),
    ("API server", "text from tokens, stop strings, stream"),
)


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of process: how many a command starts, and what they own."""

    name: str
    count: int
    owns: str


@dataclass(frozen=True, slots=True)
class ProcessMap:
    """Processes that serve, on the node of rank 0; `with_launcher` counts the parent that only starts and watches."""

    processes: int
    with_launcher: int
    gpus: int
    roles: tuple[Role, ...]
    path: tuple[tuple[str, str], ...]
    finding: str
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, tensor_parallel: int = 4, pipeline_parallel: int = 1, context_parallel: int = 1, data_parallel: int = 1,
          local_ranks: int | None = None, load_balancing: str = INTERNAL, moe: bool = False,
          api_servers: int | None = None, rust_front_end: bool = False) -> ProcessMap:
    """Count the processes that one `vllm serve` starts on the node of data-parallel rank 0.

    A worker for each GPU, unless the whole deployment has one: then EngineCore calls it in its own process. An
    EngineCore for each rank. As many API servers as ranks, local ones under hybrid load balancing, one under external.
    A coordinator when there are several ranks and they are experts' or not balanced from outside; hybrid with one of
    several ranks on the node counts as outside.
    Exact. Source: vllm 0.33.0, entrypoints/cli/serve.py, ServeSubcommand.cmd; config/vllm.py, needs_dp_coordinator;
    engine/arg_utils.py, EngineArgs.create_engine_config.
    Raises Refusal for more local ranks than ranks, for hybrid load balancing that isn't told them, for more than one
    API server with the Rust front end, and for a dense model's ranks balanced from outside.
    """
    if local_ranks and local_ranks > data_parallel:
        raise Refusal(f"{local_ranks} local ranks are more than the {data_parallel} there are.", "local_ranks")
    if load_balancing == HYBRID and not local_ranks:
        raise Refusal("Hybrid load balancing is for the ranks of this node; takes how many of them are here.",
                      "local_ranks")
    if rust_front_end and (api_servers or 1) > 1:
        raise Refusal("The Rust front end is one process; takes 1 API server, or nothing.", "api_servers")
    if load_balancing == EXTERNAL and data_parallel > 1 and not moe:
        raise Refusal("A dense model's ranks don't start behind an external balancer: run one server for each, with 1 "
                      "rank. Experts do.", "load_balancing")
    local = 1 if load_balancing == EXTERNAL else local_ranks or data_parallel
    per_rank = tensor_parallel * pipeline_parallel * context_parallel
    usual = {INTERNAL: data_parallel, HYBRID: local, EXTERNAL: 1}[load_balancing]
    servers = api_servers or (1 if rust_front_end else usual)
    workers = local * per_rank if data_parallel * per_rank > 1 else 0
    outside = load_balancing == EXTERNAL or load_balancing == HYBRID and local == 1
    coordinator = int(data_parallel > 1 and (moe or not outside))
    launcher = int(servers > 1 or rust_front_end)
    serving = servers + local + workers + coordinator
    return ProcessMap(
        processes=serving, with_launcher=serving + launcher, gpus=local * per_rank,
        roles=(
            Role("launcher", launcher, "starts and watches the others"),
            Role("API server", servers, "HTTP, tokens to text and back, metrics"),
            Role("DP coordinator", coordinator, "load and waves of the ranks"),
            Role("EngineCore", local, "scheduler, KV blocks, grammar masks"),
            Role("GPU worker", workers, "weights, KV, forward, sampling"),
        ),
        path=PATH,
        finding=f"{serving:,} processes serve {local * per_rank:,} GPU{'s' * (local * per_rank != 1)}"
                f"{', and a launcher watches them' if launcher else ''}.",
        verdict="One GPU in all: the worker is no process of its own, EngineCore calls it." if not workers else
        f"Each EngineCore has its own scheduler and {per_rank} worker{'s' * (per_rank != 1)}, one a GPU.",
        lines=(
            Line("API servers", "", servers, "processes"),
            Line("EngineCores", f"{local} data-parallel ranks" if local > 1 else "1 rank", local, "processes"),
            Line("workers", f"{local} × {tensor_parallel} × {pipeline_parallel} × {context_parallel}" if workers else
                 "inside EngineCore", workers, "processes"),
            Line("coordinator", "several ranks to balance" if coordinator else "nothing to coordinate", coordinator,
                 "processes"),
            Line("serving", f"{servers} + {local} + {workers} + {coordinator}", serving, "processes", total=True),
            Line("with the launcher", f"{serving} + {launcher}", serving + launcher, "processes"),
        ),
        slips=slips_of(servers, local, workers, coordinator, per_rank, launcher),
    )


def slips_of(servers: int, local: int, workers: int, coordinator: int, per_rank: int,
             launcher: int) -> tuple[tuple[float, str], ...]:
    """The wrong counts that people reach, and what each gets wrong."""
    right = servers + local + workers + coordinator
    slips = (
        (servers + local + local * per_rank, "That counts a worker process for the only GPU; EngineCore calls it "
                                             "itself." if not workers else "That leaves out the coordinator."),
        (servers + local, "That leaves out the workers, one a GPU."),
        (right + launcher, "That counts the launcher, which serves nothing."),
        (1 + local + workers + coordinator, "That takes one API server; by default there is one for each rank."),
        (servers + workers, "That leaves out EngineCore, which is a process beside its workers."),
        (5.0, "Five is the number of roles. A command runs some of them, some of them several times."),
    )
    return tuple((value, sentence) for value, sentence in slips if value and value != right)
