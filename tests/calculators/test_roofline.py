"""The roofline, a laptop against a shared GPU, and formats, against tables worked out by hand from datasheets."""
import pytest

from calculators.models import laptop, roofline, weight_formats

H100 = {"tflop_per_s": 989.4}  # the datasheet's figure to one more digit


@pytest.mark.parametrize(("context", "batch"), [(0, 295), (64, 348), (128, 425), (256, 755), (512, 0), (2_048, 0)])
def test_decode_turns_compute_bound_at(context: int, batch: int):
    assert roofline.solve(context_tokens=context, **H100).ridge_batch == batch


def test_at_400_tokens_it_takes_some_6000_sequences():
    assert roofline.solve(context_tokens=400).ridge_batch == pytest.approx(6_000, rel=0.03)


@pytest.mark.parametrize(("context", "most"), [(256, 483), (512, 243), (1_024, 124), (2_048, 64)])
def test_intensity_tends_to(context: int, most: float):
    assert round(roofline.solve(context_tokens=context).limit_intensity) == most


@pytest.mark.parametrize(("batch", "memory", "compute", "total", "per_user"), [
    (1, 4.87, 0.02, 205, 205), (64, 9.92, 1.11, 6_450, 101), (256, 25.3, 4.4, 10_116, 40), (295, 28.4, 5.1, 10_375, 35),
    (512, 45.8, 8.9, 11_174, 22),
])
def test_a_step_with_2048_tokens_of_context(batch: int, memory: float, compute: float, total: int, per_user: int):
    step = roofline.solve(context_tokens=2_048, batch=batch, **H100).here
    digits = 2 if batch <= 64 else 1
    assert (round(step.memory_ms, digits), round(step.compute_ms, digits)) == (memory, compute)
    assert (round(step.tokens_per_s), round(step.per_user)) == (total, per_user)


@pytest.mark.parametrize(("batch", "step", "total"), [(1, 4.79, 209), (64, 4.79, 13_350), (256, 4.79, 53_400),
                                                      (512, 8.31, 61_600)])
def test_a_step_without_a_context(batch: int, step: float, total: int):
    here = roofline.solve(batch=batch, **H100).here
    assert round(here.step_ms, 2) == step and here.tokens_per_s == pytest.approx(total, rel=0.002)


@pytest.mark.parametrize(("gpu", "ridge", "floor"), [
    ("a100", 153, 7.88), ("rtx-4090", 164, 15.9), ("h200", 206, 3.35), ("b200", 281, 2.01), ("h100", 295, 4.79),
    ("l40s", 419, 18.6),
])
def test_every_gpu_has_its_ridge_and_floor(gpu: str, ridge: int, floor: float):
    here = roofline.solve(gpu=gpu, batch=1)
    assert here.ridge_batch == ridge
    assert here.here.step_ms == pytest.approx(floor, rel=0.003)


def test_narrower_weights_lower_the_ridge_unless_products_are_as_narrow():
    assert roofline.solve(bytes_per_weight=1).ridge_batch == 148
    assert roofline.solve(bytes_per_weight=0.5).ridge_batch == 74
    assert roofline.solve(bytes_per_weight=1, tflop_per_s=1_979).ridge_batch == 295
    assert max(value for value, _ in roofline.solve().slips) == pytest.approx(590, abs=1)  # the sparse peak


def test_a_prefill_of_8192_takes_151_ms_at_peak():
    step = roofline.solve(context_tokens=2_048, batch=512, **H100)
    assert round(step.prefill_ms) == 151 and round(step.weights_ms, 2) == 4.79
    assert round(step.per_kernel_ms, 1) == 49.3 and round(step.saturation_tokens_per_s) == 12_480


def test_several_gpus_share_reading_and_products():
    one, two = roofline.solve(batch=300), roofline.solve(batch=300, tensor_parallel=2)
    assert two.here.step_ms == pytest.approx(one.here.step_ms / 2) and two.ridge_batch == one.ridge_batch


@pytest.mark.parametrize(("values", "users"), [
    ({}, 58), ({"laptop_share": 0.7}, 109), ({"context_tokens": 8_192}, 19),
    ({"context_tokens": 8_192, "laptop_share": 0.7}, 33), ({"laptop_reads_kv": False}, 52),
    ({"laptop_reads_kv": False, "laptop_share": 0.7}, 100), ({"laptop_reads_kv": False, "context_tokens": 8_192}, 13),
    ({"laptop_reads_kv": False, "context_tokens": 8_192, "laptop_share": 0.7}, 25),
])
def test_the_shared_gpu_stays_ahead_up_to(values: dict, users: int):
    run = laptop.solve(**values)
    assert run.most_users == users
    assert laptop.solve(**values, users=users).here.ahead and not laptop.solve(**values, users=users + 1).here.ahead


@pytest.mark.parametrize(("users", "each", "total"), [(1, 205, 205), (32, 136, 4_349), (64, 101, 6_450),
                                                      (128, 66, 8_505), (256, 40, 10_116)])
def test_each_user_of_the_gpu_gets(users: int, each: int, total: int):
    here = laptop.solve(users=users).here
    assert (round(here.per_user), round(here.total)) == (each, total)


@pytest.mark.parametrize(("bandwidth", "weights", "bound"), [
    (120, 4.92, 24), (273, 4.92, 55), (546, 4.92, 111), (819, 4.92, 166), (1_008, 4.92, 205), (3_350, 4.92, 681),
    (120, 16.06, 7.5), (273, 16.06, 17), (546, 16.06, 34), (3_350, 16.06, 209), (273, 42.5, 6.4), (546, 42.5, 12.8),
    (3_350, 42.5, 79),
])
def test_bandwidth_over_bytes_bounds_one_user(bandwidth: float, weights: float, bound: float):
    run = laptop.solve(laptop_gb_per_s=bandwidth, laptop_gb=weights, laptop_reads_kv=False)
    assert run.laptop_tokens_per_s == pytest.approx(bound, abs=0.5 if bound > 13 else 0.05)


def test_a_prompt_of_4096_takes_the_laptop_seconds():
    run = laptop.solve(users=64, laptop_reads_kv=False)
    assert (round(run.gpu_prefill_s, 2), round(run.laptop_prefill_s, 1)) == (0.13, 4.4)
    assert round(run.ratio_in_all) == 58 and round(laptop.solve().laptop_tokens_per_s) == 105


@pytest.mark.parametrize(("batch", "bf16", "fp8", "int4"), [
    (1, (4.56, None), (2.48, None), (1.48, None)), (64, (9.61, 7.04), (7.53, 4.96), (6.52, 3.96)),
    (256, (24.99, 14.74), (22.91, 12.65), (21.91, 11.65)),
])
def test_formats_by_batch(batch: int, bf16: tuple, fp8: tuple, int4: tuple):
    for form, (kv16, kv8) in zip(weight_formats.solve(batch=batch).formats, (bf16, fp8, int4), strict=False):
        assert round(form.kv16_ms, 2) == kv16 and (kv8 is None or round(form.kv8_ms, 2) == kv8)


def test_prefill_gains_where_products_are_narrower():
    assert [round(form.prefill_ms, 1) for form in weight_formats.solve().formats] == [115.6, 57.8, 115.6, 115.6]
    blackwell = weight_formats.solve(gpu="b200").formats
    assert [round(form.prefill_ms, 1) for form in blackwell] == [50.8, 25.4, 50.8, 12.7]
    assert [round(form.kv16_ms, 2) for form in blackwell] == [1.91, 1.04, 0.62, 0.66]
    assert [round(form.read_gb, 2) for form in blackwell] == [15.01, 8.03, 4.68, 4.98]


def test_weights_matter_to_one_user_and_kv_to_256():
    one, many = weight_formats.solve(), weight_formats.solve(batch=256)
    assert (round(one.fp8_gain, 1), round(one.kv8_gain, 2)) == (1.8, 1.01)
    assert (round(many.fp8_gain, 2), round(many.kv8_gain, 2)) == (1.09, 1.70)
    assert round(one.formats[2].kv16_gain, 1) == 3.1 and round(many.formats[2].kv16_gain, 2) == 1.14
