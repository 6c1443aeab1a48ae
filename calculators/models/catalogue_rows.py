"""What a row of the catalogue is, and rows with numbers of one's own: "llama-3.1-8b,layers:40" is that row changed."""
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from decimal import Decimal
from functools import lru_cache
from itertools import cycle, islice
from typing import Any, Generic, NamedTuple, TypeVar

from calculators.models.base import Refusal

FULL, SLIDING, CHUNKED_LOCAL, MLA, LINEAR = "full", "sliding", "chunked_local", "mla", "linear"
KINDS = {FULL: "full", SLIDING: "sliding", CHUNKED_LOCAL: "chunked", MLA: "latent"}  # in words
BF16, FP8, INT4, NVFP4, NATIVE = "bf16", "fp8", "int4", "nvfp4", "native"

# Bits that a weight of a linear layer takes with its scales: int4 has a 16-bit scale and a 4-bit zero point for each
# 128 weights, nvfp4 an 8-bit scale for each 16.
BITS: dict[str, float] = {BF16: 16, FP8: 8, INT4: 4 + 16 / 128 + 4 / 128, NVFP4: 4.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model as its config.json describes it.

    `pattern` repeats over the layers and names what each keeps. `window` is the reach of sliding layers, or the chunk
    of chunked-local ones. A latent model keeps `latent` + `rope` values a layer; its heads are `head_dim` wide for K
    and `v_head_dim` for V (0: the same). `ffn` is that of one expert where there are experts. `native_bytes` is the
    size of the published checkpoint when that is not in bf16. `source` is the model's name on huggingface.co.
    """

    name: str
    source: str
    parameters: int
    active_parameters: int = 0
    layers: int
    query_heads: int
    kv_heads: int
    head_dim: int = 128
    v_head_dim: int = 0
    hidden: int
    ffn: int
    vocabulary: int
    tied: bool = False
    experts: int = 0
    experts_per_token: int = 0
    pattern: tuple[str, ...] = (FULL,)
    window: int = 0
    latent: int = 0
    rope: int = 0
    longest_context: int = 131_072
    native_bytes: float = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each layer keeps, in order."""
        return tuple(islice(cycle(self.pattern), self.layers))

    @property
    def kv_values(self) -> int:
        """Values that one layer keeps of one token: K and V of each KV head, or one latent with its rope key."""
        return self.latent + self.rope or 2 * self.kv_heads * self.head_dim

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of KV a token in bf16, all layers of all GPUs together, if every layer keeps every token."""
        return self.layers * self.kv_values * 2

    @property
    def attention_flop_per_pair(self) -> int:
        """FLOP of attention for one (query, key) pair over all layers: QK^T and PV, a multiply and an add each."""
        return 2 * self.layers * self.query_heads * (self.head_dim + (self.v_head_dim or self.head_dim))

    @property
    def computed_parameters(self) -> int:
        """Parameters that one token is multiplied by: the active ones of a mixture of experts."""
        return self.active_parameters or self.parameters

    @property
    def expert_parameters(self) -> float:
        """Parameters of all routed experts; 0 of a dense model."""
        if not self.experts:
            return 0
        return (self.parameters - self.active_parameters) / (1 - self.experts_per_token / self.experts)

    def weight_bytes(self, form: str = BF16) -> float:
        """Bytes of the weights. Quantised, embedding and head stay in bf16, so an estimate; NATIVE is as published."""
        if form == NATIVE:
            return self.native_bytes or 2 * self.parameters
        kept = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return 2 * kept + (self.parameters - kept) * BITS[form] / 8

    @property
    def read_bytes(self) -> float:
        """Bytes of bf16 weights that a step reads: all but the input embedding, unless that is the head as well."""
        return self.weight_bytes() - (0 if self.tied else 2 * self.vocabulary * self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU: the datasheet's dense rates without sparsity, 0 where it has no such format.

    `visible_gib` is what the driver reports in all; it lies below the nominal size and differs a little by driver.
    `multiprocessors` are NVIDIA's SMs, or AMD's compute units.
    `effective_*` are rules of thumb, 62% of the bf16 peak and 80% of the bandwidth. `nvlink_gb_per_s` sums both
    directions, `pcie_gb_per_s` is one. `source` is the vendor's page.
    """

    name: str
    source: str
    nominal_gb: float
    visible_gib: float
    multiprocessors: int
    tb_per_s: float
    bf16_tflop_per_s: float
    fp8_tflop_per_s: float = 0
    fp4_tflop_per_s: float = 0
    effective_tflop_per_s: float
    effective_tb_per_s: float
    nvlink_gb_per_s: float = 0
    pcie_gb_per_s: float = 64

    def tflop_per_s(self, form: str) -> float:
        """The dense peak for products in that format; one the GPU lacks runs in bf16."""
        return {FP8: self.fp8_tflop_per_s, NVFP4: self.fp4_tflop_per_s}.get(form) or self.bf16_tflop_per_s

    @property
    def ridge(self) -> float:
        """FLOP per byte at which bf16 products take as long as reading 16-bit weights: so many tokens in a step."""
        return self.bf16_tflop_per_s / self.tb_per_s


class Part(NamedTuple):
    """One number of a row as it is typed: its field, its range in the unit typed, and how many units make one of that.

    A part with `letters` is no number: it takes so many letters of them, each for a word.
    """

    name: str
    label: str
    low: float = 0
    high: float = 0
    unit: str = ""
    scale: int = 1
    whole: bool = True
    letters: Mapping[str, str] = {}

    @property
    def legend(self) -> str:
        """What the letters stand for: "f full, s sliding"."""
        return ", ".join(f"{letter} {KINDS[word]}" for letter, word in self.letters.items())

    @property
    def takes(self) -> str:
        """The sentence beside a value that can't be used."""
        if self.letters:
            return f"{self.label} takes a letter for each layer that repeats, at most {self.high:,}: {self.legend}."
        kind = "a whole number" if self.whole else "a number"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.label} takes {kind} from {self.low:,} to {self.high:,}{unit}."

    def read(self, text: str) -> Any:
        """The field's value; raises Refusal with what it takes."""
        bare = re.sub(r"[_\s]", "", text).lower()
        if self.letters:
            if not 0 < len(bare) <= self.high or not set(bare) <= set(self.letters):
                raise Refusal(self.takes)
            return tuple(self.letters[letter] for letter in bare)
        if not NUMBER.fullmatch(bare) or not self.low <= (value := Decimal(bare)) <= self.high:
            raise Refusal(self.takes)
        scaled = value * self.scale
        if self.whole and scaled != int(scaled):
            raise Refusal(self.takes)
        return int(scaled) if self.whole or self.scale > 1 else float(scaled)

    def say(self, value: Any) -> str:
        """The value in words: "parameters 8.03 B", "layers keep sssssf (f full, s sliding, …)"."""
        if self.letters:
            return f"{self.label} {self.write(value)} ({self.legend})"
        number = value / self.scale
        said = f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"
        return f"{self.label} {said} {self.unit}".rstrip()

    def write(self, value: Any) -> str:
        """The value as it is typed: 8030261248 parameters are "8.030261248", in billions."""
        if self.letters:
            letter_of = {word: letter for letter, word in self.letters.items()}
            return "".join(letter_of.get(word, "?") for word in value)
        return plain(Decimal(str(float(value) if isinstance(value, float) else int(value))) / self.scale)


def plain(number: Decimal) -> str:
    """A number without exponent and without noughts at the end."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


OWN = "own"  # a row of which every number is one's own
LONGEST_TEXT = 1_200
NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}")
LETTERS = {"f": FULL, "s": SLIDING, "c": CHUNKED_LOCAL, "m": MLA}
MODEL_PARTS = (
    Part("parameters", "parameters", 0.001, 10_000, "B", 10**9, whole=False),
    Part("active_parameters", "active parameters", 0, 10_000, "B", 10**9, whole=False),
    Part("layers", "layers", 1, 512),
    Part("query_heads", "query heads", 1, 1_024),
    Part("kv_heads", "KV heads", 1, 1_024),
    Part("head_dim", "head size", 8, 1_024),
    Part("v_head_dim", "head size of V", 0, 1_024),
    Part("hidden", "hidden", 16, 65_536),
    Part("ffn", "FFN, of one expert", 1, 1_000_000),
    Part("vocabulary", "vocabulary", 16, 4_000_000),
    Part("tied", "tied head (0 or 1)", 0, 1),
    Part("experts", "experts", 0, 4_096),
    Part("experts_per_token", "experts a token", 0, 256),
    Part("pattern", "layers keep", 1, 512, letters=LETTERS),
    Part("window", "window", 0, 10_485_760, "tok"),
    Part("latent", "latent", 0, 16_384),
    Part("rope", "rope key", 0, 4_096),
    Part("longest_context", "longest context", 1, 10_485_760, "tok"),
    Part("native_bytes", "as published", 0, 100_000, "GB", 10**9, whole=False),
)
GPU_PARTS = (
    Part("nominal_gb", "memory, nominal", 1, 1_000, "GB", whole=False),
    Part("visible_gib", "memory, visible", 1, 1_000, "GiB", whole=False),
    Part("multiprocessors", "multiprocessors", 1, 1_000),
    Part("tb_per_s", "bandwidth", 0.01, 100, "TB/s", whole=False),
    Part("bf16_tflop_per_s", "bf16", 1, 100_000, "TF/s", whole=False),
    Part("fp8_tflop_per_s", "fp8 (0: none)", 0, 100_000, "TF/s", whole=False),
    Part("fp4_tflop_per_s", "fp4 (0: none)", 0, 100_000, "TF/s", whole=False),
    Part("effective_tflop_per_s", "bf16 in practice", 1, 100_000, "TF/s", whole=False),
    Part("effective_tb_per_s", "bandwidth in practice", 0.01, 100, "TB/s", whole=False),
    Part("nvlink_gb_per_s", "NVLink, both ways", 0, 100_000, "GB/s", whole=False),
    Part("pcie_gb_per_s", "PCIe, one way", 0.1, 10_000, "GB/s", whole=False),
)


def own_model(base: Model | None, given: Mapping[str, Any]) -> Model:
    """The model with these fields instead; raises Refusal where they can't go together."""
    model = changed(Model, base, given, MODEL_PARTS)
    if base is None:
        model = replace(model, name=f"own {model.parameters / 1e9:.3g}B")
    kept = model.vocabulary * model.hidden * (1 if model.tied else 2)
    latent = MLA in model.pattern
    if kept > model.parameters:
        raise Refusal(f"Embedding and head alone are {kept / 1e9:.3g}B parameters, more than the "
                      f"{model.parameters / 1e9:.3g}B in all.")
    if model.experts and not 0 < model.experts_per_token < model.experts:
        raise Refusal(f"Of {model.experts:,} experts a token takes at least one and not all.")
    if model.experts and not 0 < model.active_parameters < model.parameters:
        raise Refusal("With experts, the active parameters are fewer than the parameters, and not none.")
    if model.active_parameters and not model.experts:
        raise Refusal("Without experts every parameter is active; leave the active parameters at 0.")
    if not latent and model.query_heads % model.kv_heads:
        raise Refusal(f"{model.kv_heads:,} KV heads don't divide {model.query_heads:,} query heads.")
    if latent and set(model.pattern) != {MLA}:
        raise Refusal("Latent layers beside layers of another kind are not modelled here.")
    if latent != bool(model.latent):
        raise Refusal("Latent layers need the size of their latent, and other layers have none.")
    if {SLIDING, CHUNKED_LOCAL} & set(model.pattern) and model.window < 2:
        raise Refusal("Windowed layers need a window of two tokens or more.")
    return model


def own_gpu(base: Gpu | None, given: Mapping[str, Any]) -> Gpu:
    """The GPU with these fields instead; what is reached in practice follows the peaks unless it is given too."""
    given = dict(given)
    for peak, effective, share in (("bf16_tflop_per_s", "effective_tflop_per_s", 0.62),
                                   ("tb_per_s", "effective_tb_per_s", 0.8)):
        if peak in given:
            given.setdefault(effective, given[peak] * share)
    return changed(Gpu, base, given, GPU_PARTS)


Row = TypeVar("Row", Model, Gpu)


def changed(kind: type[Row], base: Row | None, given: Mapping[str, Any], parts: tuple[Part, ...]) -> Row:
    """The base with these fields instead and a star behind its name; without a base, a row of these fields alone."""
    if base is not None:
        return replace(base, **given, name=f"{base.name}*")
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if lacking := [part.label for part in parts if part.name in needed and part.name not in given]:
        raise Refusal(f"Numbers of one's own still lack: {', '.join(lacking)}.")
    return kind(name="own", source="numbers of one's own", **given)


class Rows(dict[str, Row], Generic[Row]):
    """Rows by slug. What is no slug is read as a row with numbers of one's own: "h100,tb_per_s:3.9", "own,layers:…".

    Reading raises KeyError for an unknown slug and Refusal for numbers that can't be used. A part of the rows (`only`)
    reads such texts as the whole does.
    """

    def __init__(self, rows: Mapping[str, Row], parts: tuple[Part, ...],
                 own: Callable[[Row | None, Mapping[str, Any]], Row], whole: "Rows[Row] | None" = None) -> None:
        super().__init__(rows)
        self.parts, self.own, self.whole = parts, own, whole
        self.read = lru_cache(maxsize=256)(self.read_own)

    def __missing__(self, text: str) -> Row:
        return self.whole[text] if self.whole is not None else self.read(text)

    def only(self, test: Callable[[Row], bool]) -> "Rows[Row]":
        """The rows that pass."""
        return Rows({slug: row for slug, row in self.items() if test(row)}, self.parts, self.own, self.whole or self)

    def read_own(self, text: str) -> Row:
        """The row that such a text describes."""
        slug, changes = split(text)
        if slug != OWN and slug not in self:
            raise KeyError(text)
        given = {name: self.part(name).read(typed) for name, typed in changes.items()}
        base = None if slug == OWN else self[slug]
        given = {name: value for name, value in given.items() if base is None or getattr(base, name) != value}
        return self.own(base, given) if given or base is None else base

    def part(self, name: str) -> Part:
        """The part of that name; raises Refusal for a name that is none."""
        found = next((part for part in self.parts if part.name == name), None)
        if found is None:
            raise Refusal(f"A row has no {name}; it has {', '.join(part.name for part in self.parts)}.")
        return found

    def shortest(self, text: str) -> str:
        """The text without what its row has anyway."""
        slug, changes = split(text)
        base = None if slug == OWN else self[slug]
        told = {name: self.part(name).read(typed) for name, typed in changes.items()}
        kept = {part.name: part.write(told[part.name]) for part in self.parts
                if part.name in told and (base is None or told[part.name] != getattr(base, part.name))}
        return joined(slug, kept)

    def described(self, row: Row) -> str:
        """The text of a row that is all one's own."""
        unsaid = {field.name: field.default for field in fields(row)}
        return joined(OWN, {part.name: part.write(getattr(row, part.name)) for part in self.parts
                            if getattr(row, part.name) != unsaid[part.name]})


def split(text: str) -> tuple[str, dict[str, str]]:
    """A text's slug and its changes as typed, by part."""
    slug, *changes = text.split(",")
    pairs = (change.partition(":") for change in changes if change.strip())
    return slug.strip(), {name.strip(): typed.strip() for name, _, typed in pairs}


def joined(slug: str, changes: Mapping[str, str]) -> str:
    """"llama-3.1-8b,layers:40"."""
    return ",".join([slug, *(f"{name}:{typed}" for name, typed in changes.items())])


def kinds_in(rows: Iterable[Model]) -> set[str]:
    """What the layers of these models keep."""
    return {kind for model in rows for kind in model.pattern}
