"""What is fed to each net of Glow's Caffe2 tests, and what must come out.

The nets do not say which shapes and kinds their inputs have; they are stated
here, with values that are drawn by the name of the net.  What must come out is
computed by reference.py from the same inputs and the weights of the init net.
Nets that are refused stand here with the reason, which the message must hold.
"""

import numpy
import reference as ref

F, H, D = "float32", "float16", "float64"
I32, I64, U8 = "int32", "int64", "uint8"

I8 = "int8"


class Net:
    """`want(inputs and weights by name)` gives the outputs, in order.

    `verify`: lowering is held to the evaluator, on inputs of its own choice; not
    where that takes long or no such inputs have a meaning.
    """

    def __init__(self, predict, want=None, init=None, refused=None, verify=True,
                 types=None, one_way=False, **inputs):
        self.predict, self.init = predict, init
        self.want, self.refused, self.verify = want, refused, verify
        # Scale and offset of inputs of quantized elements, by name.
        self.types = types or {}
        # ONNX cannot say it: rows that are quantized, operators on quantized weights.
        self.one_way = one_way
        self.inputs = inputs.pop("named", {}) | inputs


class Random:
    """What a random output must look like; all runs must give the same."""

    def __init__(self, shape, mean, deviation, low=-9, high=9):
        self.shape, self.mean, self.deviation = shape, mean, deviation
        self.low, self.high = low, high

    def wrong(self, x):
        """Says what is wrong, if anything is, at five standard errors."""
        far = 5 * self.deviation / x.size**0.5
        if x.shape != self.shape or x.dtype != F:
            return f"is {x.dtype}{x.shape}, not {F}{self.shape}"
        if x.min() < self.low or x.max() > self.high:
            return f"is not within {self.low} and {self.high}"
        if abs(x.mean() - self.mean) > far or abs(x.std() - self.deviation) > far:
            return f"has mean {x.mean()} and standard deviation {x.std()}"
        return None


def drawn(*shape, kind=F, low=-2.0, high=2.0):
    """A tensor to be drawn."""
    return lambda random: (random.uniform(low, high, shape)).astype(kind)


def bytes_of(*shape):
    """Quantized elements to be drawn, over all of their range."""
    return lambda random: random.integers(-128, 128, shape).astype(I8)


def numbers(*values, kind=I32):
    return lambda random: numpy.array(values, kind)


def nans(*shape):
    def make(random):
        x = random.uniform(-2, 2, shape).astype(F)
        x.flat[::3] = numpy.nan
        return x

    return make


SPARSE = {
    "indices": numbers(2, 0, 0, 1, 2, 0, 1, 2, kind=I64),
    "lengths": numbers(3, 0, 3, 2),
}
IMAGE = {"named": {"gpu_0/data_0": drawn(1, 1, 3, 3)}}

NETS = [
    Net("NCHW2NHWC_predict_net", lambda v: numpy.transpose(v["inputs"], (0, 2, 3, 1)),
        inputs=drawn(1, 2, 3, 4)),
    Net("alias_op_net", lambda v: v["X"], X=drawn(10, 7)),
    Net("argmin", lambda v: v["input"].argmin(axis=1), input=drawn(5, 7)),
    Net("avgpool_nhwc_predict_net",
        lambda v: ref.last(ref.avg_pool, v["inputs"], 2, 1, [1] * 4),
        inputs=drawn(1, 3, 3, 2)),
    Net("avgpool_predict_net", lambda v: ref.avg_pool(v["inputs"], 2, 1, [1] * 4),
        inputs=drawn(1, 2, 3, 3)),
    Net("batch_box_cox_predict_net",
        lambda v: ref.box_cox(v["data"], v["lambda1"], v["lambda2"]),
        data=drawn(4, 6, low=0.5, high=3), lambda1=numbers(0, 0.5, 1, 0, -1, 2, kind=F),
        lambda2=numbers(0.1, 0, -2, 1, 0.3, 0.2, kind=F)),
    Net("batch_sparse_to_dense_last_dim_1",
        lambda v: ref.batch_sparse_to_dense(v["lengths"], v["indices"], v["values"], 1),
        lengths=numbers(1, 0, 1, 1, kind=I64), indices=numbers(0, 0, 0, kind=I64),
        values=numbers(1, 2, 3, kind=F)),
    Net("batched_matmul", lambda v: v["lhs"] @ v["rhs"],
        lhs=drawn(3, 10, 7), rhs=drawn(3, 7, 10)),
    Net("bucketize_op_net",
        lambda v: numpy.searchsorted(
            numpy.array([0.1, 2.5], F), v["input_0"]).astype(I32),
        input_0=numbers([-1, 2.5], [2, 0.1], [4, 0.1001], kind=F)),
    Net("cast_int64_to_int64", lambda v: v["input"], input=numbers(5, -9, kind=I64)),
    Net("clip_op_default_net", lambda v: v["inputs_0"], inputs_0=drawn(5, 5)),
    Net("clip_op_net", lambda v: v["inputs_0"].clip(20, 60),
        inputs_0=drawn(5, 5, high=90)),
    Net("concat_add_axis_at_edge",
        lambda v: numpy.stack([v[f"inputs_{i}"] for i in range(3)], axis=4),
        **{f"inputs_{i}": drawn(2, 3, 1, 2) for i in range(3)}),
    Net("concat_add_axis_predict_net",
        lambda v: numpy.stack([v[f"inputs_{i}"] for i in range(3)], axis=1),
        **{f"inputs_{i}": drawn(10, 7) for i in range(3)}),
    Net("concat_predict_net",
        lambda v: numpy.concatenate([v[f"inputs_{i}"] for i in range(3)], axis=1),
        inputs_0=drawn(10, 7), inputs_1=drawn(10, 12), inputs_2=drawn(10, 5)),
    Net("constant_fill_input_as_shape", lambda v: numpy.full((17, 23, 29, 31), 3.0),
        init="constant_fill_input_as_shape_init"),
    Net("constant_fill_use_input_shape", lambda v: numpy.full((7, 5), 3.0),
        inputs_0=drawn(7, 5)),
    Net("constant_fill_use_provided_shape",
        lambda v: numpy.full((7, 11, 13, 17), 3.0)),
    # The offsets of channels count from i8, as Glow takes them.
    Net("conv_group_quantized_pred_net",
        lambda v: ref.rounded(ref.last(
            ref.grouped, (v["input"] - 3) * 0.5, 6.0 * (v["conv_w"] + 0.0 - 128 - 5),
            v["conv_b"]), 3.14, 5 - 128),
        init="conv_group_quantized_init_net", types={"input": (0.5, 3)},
        input=bytes_of(1, 3, 3, 4)),
    # The filter has its channels first although the image has them last.
    Net("conv_nhwc_predict_net",
        lambda v: ref.last(ref.conv, v["inputs"], v["conv_w"], v["conv_b"], pad=1),
        init="conv_nhwc_init_net", inputs=drawn(1, 3, 3, 1)),
    Net("convrelu_pred_net",
        lambda v: numpy.maximum(
            0, ref.conv(v["gpu_0/data_0"], v["conv_w"], v["conv_b"], pad=1)),
        init="convrelu_init_net", **IMAGE),
    Net("convtranspose",
        lambda v: ref.conv_transpose(
            v["gpu_0/data_0"], v["convTranspose_w"], v["convTranspose_b"]),
        init="convtranspose_init", named={"gpu_0/data_0": drawn(1, 1, 2, 2)}),
    Net("convtranspose_net",
        lambda v: ref.conv_transpose(
            v["gpu_0/data_0"], v["convTranspose_w"], v["convTranspose_b"], pad=1),
        named={"gpu_0/data_0": drawn(1, 3, 4, 4), "convTranspose_w": drawn(3, 2, 2, 2),
               "convTranspose_b": drawn(2)}),
    Net("convtranspose_nhwc",
        lambda v: ref.last(ref.conv_transpose, v["inputs"], v["convTranspose_w"],
                           v["convTranspose_b"], pad=1),
        init="convtranspose_nhwc_init", inputs=drawn(1, 3, 3, 1)),
    Net("convtranspose_pads",
        lambda v: ref.conv_transpose(
            v["gpu_0/data_0"], v["convTranspose_w"], v["convTranspose_b"], pad=1),
        init="convtranspose_init", **IMAGE),
    Net("dce_test_predict_net",
        lambda v: ref.last(ref.conv, v["conv_inputs"], v["conv_w"], v["conv_b"], pad=1),
        init="dce_test_init_net", fc_inputs=drawn(2, 3), conv_inputs=drawn(1, 3, 3, 1)),
    Net("dot_product_predict_net", lambda v: (v["X"] * v["Y"]).sum(axis=1),
        X=drawn(10, 7), Y=drawn(10, 7)),
    Net("dropout", lambda v: v["input"], input=drawn(1, 1, 3, 3)),
    Net("dynamic_quantized_fc_predict_net",
        lambda v: ref.dynamic_fc(v["input"], v["weights"].astype(D), v["bias"]),
        init="dynamic_quantized_fc_init", input=drawn(2, 3),
        one_way=True),
    Net("elementwise_linear_broadcast_net", lambda v: v["X"] * v["w"] + v["b"],
        X=drawn(10, 7), w=drawn(7), b=drawn(7)),
    Net("elementwise_linear_default_net", lambda v: v["X"] * v["w"] + v["b"],
        X=drawn(10, 7), w=drawn(7), b=drawn(7)),
    Net("elementwise_linear_net",
        lambda v: v["X"] * v["w"][:, None] + v["b"][:, None],
        X=drawn(10, 7), w=drawn(10), b=drawn(10)),
    # No operator: what goes in comes out.
    Net("empty_predict_net", lambda v: v["unused_output"], init="empty_init_net",
        unused_output=drawn(2)),
    Net("eq_op_net", lambda v: v["X"] == v["Y"],
        X=numbers(1, 2, 3, 4, 5, kind=I64), Y=numbers(1, 3, 3, 0, 5, kind=I64)),
    Net("exp_op_net", lambda v: numpy.exp(v["data"]), data=drawn(4, 2)),
    Net("fbfcpacked_3d_second_axis_predict",
        lambda v: ref.fc(v["input"], v["weights"].astype(F), v["bias"], axis=2),
        init="fbfcpacked_3d_second_axis_init", input=drawn(2, 3, 4)),
    Net("fbfcpacked_4d_first_axis_predict_net",
        lambda v: ref.fc(v["input"], v["weights"].astype(F), v["bias"], axis=1),
        init="fbfcpacked_4d_first_axis_init_net", input=drawn(5, 1, 5, 1)),
    Net("fcTransposed_4d_predict_net", lambda v: numpy.zeros((1, 1, 1, 9190)),
        init="fcTransposed_4d_init_net", verify=False, inputs=drawn(1, 1, 1, 2048)),
    Net("fcTransposed_predict_net",
        lambda v: ref.fc(v["inputs"], v["weights"].T, v["bias"]),
        init="fcTransposed_init_net", inputs=drawn(2, 3)),
    Net("fc_3d_second_axis_predict",
        lambda v: ref.fc(v["input"], v["weights"], v["bias"], axis=2),
        init="fc_3d_second_axis_init", input=drawn(2, 3, 4)),
    Net("fc_4d_first_axis_predict_net", lambda v: numpy.zeros((5, 3)),
        init="fc_4d_first_axis_init_net", inputs=drawn(5, 1, 5, 1)),
    Net("fc_4d_predict_net", lambda v: numpy.zeros((1, 1, 1, 9190)),
        init="fc_4d_init_net", verify=False, inputs=drawn(1, 1, 1, 2048)),
    Net("fc_predict_net", lambda v: ref.fc(v["inputs"], v["weights"], v["bias"]),
        init="fc_init_net", inputs=drawn(2, 3)),
    Net("fill_examples_with_indicator",
        lambda v: ref.fill_examples(v["data"], v["indicator"]),
        data=drawn(4, 3), indicator=numbers(0, 1, 1, 0, 0, 1, 0, 1)),
    Net("fill_test_predict_net", lambda v: [numpy.ones((2, 2), bool)] * 4,
        init="fill_test_init_net"),
    Net("4bit_fused_rowwise_quantized_sparse_lengths_sum_predict_net",
        lambda v: ref.picked(ref.columns(v["data"], 4, "<f2"), v),
        init="4bit_fused_rowwise_quantized_sparse_lengths_sum_init_net", one_way=True,
        **SPARSE),
    Net("fused_rowwise_quantized_sparse_lengths_sum_predict_net",
        lambda v: ref.picked(ref.columns(v["data"], 8, "<f4"), v),
        init="fused_rowwise_quantized_sparse_lengths_sum_init_net", one_way=True,
        **SPARSE),
    Net("fused_rowwise_quantized_sparse_lengths_sum_predict_net_length1",
        lambda v: ref.picked(ref.columns(v["data"], 8, "<f4"), v),
        init="fused_rowwise_quantized_sparse_lengths_sum_init_net", one_way=True,
        **SPARSE),
    Net("fused_rowwise_quantized_sparse_lengths_weighted_sum_predict_net",
        lambda v: ref.picked(ref.columns(v["data"], 8, "<f4"), v),
        init="fused_rowwise_quantized_sparse_lengths_weighted_sum_init_net", one_way=True,
        **SPARSE),
    Net("fused_rowwise_quantized_sparse_lengths_weighted_sum_avg_length_predict_net",
        lambda v: ref.picked(ref.columns(v["data"], 8, "<f4"), v),
        init="fused_rowwise_quantized_sparse_lengths_weighted_sum_init_net", one_way=True,
        **SPARSE),
    Net("rowwise_quantized_sparse_lengths_sum_predict_net",
        lambda v: ref.picked(
            v["data"] * v["scales_bias"][:, :1] + v["scales_bias"][:, 1:], v),
        init="rowwise_quantized_sparse_lengths_sum_init_net", one_way=True,
        **SPARSE),
    Net("rowwise_quantized_sparse_lengths_weighted_sum_predict_net",
        lambda v: ref.picked(
            v["data"] * v["scale_bias"][:, :1] + v["scale_bias"][:, 1:], v),
        init="rowwise_quantized_sparse_lengths_weighted_sum_init_net", one_way=True,
        **SPARSE),
    Net("gather_const_fold", lambda v: v["data"].reshape(1, 4, 3, 2),
        init="gather_const_fold_init", data=drawn(1, 2, 4, 3)),
    Net("gather_ranges",
        lambda v: [ref.gather_ranges(v["data"], v["ranges"]),
                   v["ranges"][:, :, 1].sum(axis=1).astype(I32)],
        data=numbers(1, 2, 3, 4, 5, 6), ranges=numbers([[0, 1], [2, 2]], [[4, 1], [5, 1]])),
    Net("gelu", lambda v: ref.gelu(v["input"]), input=drawn(3, 4)),
    Net("halftofloat_op_net", lambda v: v["X"].astype(F), X=drawn(10, 7, kind=H)),
    Net("int8convrelu_pred_net",
        lambda v: ref.rounded(numpy.maximum(0, ref.conv(
            v["gpu_0/data_0"] - 5.0, 2.0 * (v["conv_w"] - 10.0),
            10.0 * (v["conv_b"] - 4.0), pad=1)), 1.5, 7 - 128),
        init="int8convrelu_init_net", types={"gpu_0/data_0": (1, 5)},
        named={"gpu_0/data_0": numbers([[[5, 4, 6], [3, 5, 1], [5, 9, 4]]], kind=I8)}),
    Net("int8fc_3d_second_axis_predict",
        lambda v: ref.rounded(ref.fc(
            v["input"] + 3.0, v["weights"].astype(D), v["bias"].astype(D), axis=2), 1, 0, 0,
            255).astype(F),
        init="int8fc_3d_second_axis_init", types={"input": (1, -3)},
        input=numbers([[1, 2, 3], [4, 5, 6]], [[7, -8, 9], [10, 2, 12]], kind=I8)),
    Net("int8fc_4d_first_axis_predict_net",
        lambda v: ref.rounded(ref.fc(
            v["input"] * 0.25, v["weights"].astype(D), v["bias"].astype(D), axis=1), 1, 0, 0,
            255).astype(F),
        init="int8fc_4d_first_axis_init_net", types={"input": (0.25, 0)},
        input=bytes_of(3, 1, 5, 1)),
    Net("int8sumrelu_pred_net",
        lambda v: ref.rounded(
            numpy.maximum(0, v["gpu_0/data_0"] * 0.5 + v["rhs"]), 1, -128),
        init="int8sumrelu_init_net", types={"gpu_0/data_0": (0.5, 0)},
        named={"gpu_0/data_0": bytes_of(4, 2)}),
    Net("int8sumrelu_large_range_pred_net",
        lambda v: ref.rounded(numpy.maximum(
            0, v["gpu_0/data_0"].round().clip(0, 255) + 600.0 * (v["rhs"] - 127.0)),
            575, 120 - 128),
        init="int8sumrelu_large_range_init_net",
        named={"gpu_0/data_0": drawn(4, 2, low=-9, high=300)}),
    Net("int8sumrelu_tiny_scale_pred_net",
        lambda v: ref.rounded(numpy.maximum(
            0, v["gpu_0/data_0"] * 5e-10 + 7e-10 * (v["rhs"] - 13.0)), 1e-11, 5 - 128),
        init="int8sumrelu_tiny_scale_init_net", types={"gpu_0/data_0": (5e-10, 0)},
        named={"gpu_0/data_0": numbers([13, 17], [18, 16], [19, 20], [-90, 3], kind=I8)}),
    Net("layernorm_neg_axis_pred_net", lambda v: ref.layer_norm(v["input"], -2, 0.05),
        input=drawn(4, 2, 5, 5)),
    Net("layernorm_pred_net", lambda v: ref.layer_norm(v["input"], 2, 0.05),
        input=drawn(4, 2, 5, 5)),
    Net("layernorm_weight_bias_pred_net",
        lambda v: ref.layer_norm(v["input"], 1, 1e-5, v["weight"], v["bias"]),
        init="layernorm_weight_bias_init_net", input=drawn(5, 4, 3)),
    Net("lengths_range_fill_predict_net",
        lambda v: numpy.concatenate([numpy.arange(n, dtype=I32) for n in v["lengths"]]),
        lengths=numbers(4, 0, 3, 1)),
    Net("lengths_sum", lambda v: ref.lengths_sum(v["data"], v["lengths"]),
        data=drawn(10, 2, 3), lengths=numbers(2, 0, 3, 0, 1, 4)),
    Net("lengths_to_ranges",
        lambda v: numpy.array([[0, 1], [1, 3], [4, 0], [4, 2]], I32),
        init="lengths_to_ranges_init_net"),
    Net("log1p", lambda v: numpy.log1p(v["input"]), input=drawn(5, 5, low=0.1)),
    Net("logit_op_net",
        lambda v: numpy.log(v["inputs_0"].astype(D) / (1 - v["inputs_0"].astype(D))),
        inputs_0=drawn(5, 3, low=0.1, high=0.9)),
    Net("lpnorm_p1", lambda v: numpy.abs(v["input"]).sum().reshape(1),
        input=drawn(3, 4)),
    Net("lpnorm_p2", lambda v: (v["input"] ** 2).sum().reshape(1), input=drawn(3, 4)),
    Net("matmul_trans_RHS_predict_net", lambda v: v["inputs_0"] @ v["inputs_1"].T,
        inputs_0=drawn(10, 7), inputs_1=drawn(9, 7)),
    # Caffe's rounding up of the size changes nothing at a stride of 1.
    Net("maxpool_legacy_padding_predict_net",
        lambda v: ref.max_pool(v["inputs"], 2, 1, [1] * 4), inputs=drawn(1, 2, 3, 3)),
    Net("maxpool_nhwc_predict_net",
        lambda v: ref.last(ref.max_pool, v["inputs"], 2, 1, [1] * 4),
        inputs=drawn(1, 3, 3, 2)),
    Net("maxpool_predict_net", lambda v: ref.max_pool(v["inputs"], 2, 1, [1] * 4),
        inputs=drawn(1, 2, 3, 3)),
    Net("mean_3inputs", lambda v: (v["input1"] + v["input2"] + v["input3"]) / 3,
        **{f"input{i}": drawn(10, 7) for i in (1, 2, 3)}),
    Net("modulo_op_net", lambda v: numpy.fmod(v["data"], 2),
        data=numbers(-4, -3, -2, -1, 0, 1, 2, 3, 4, kind=I64)),
    Net("multiple_inputs_graph", lambda v: v["input1"] + v["input2"],
        input1=drawn(2, 3), input2=drawn(2, 3)),
    Net("negative", lambda v: -v["input"], input=drawn(4, 3)),
    Net("parallel_matmul_predict_net", lambda v: v["inputs_0"] @ v["inputs_1"],
        inputs_0=drawn(3, 10, 7), inputs_1=drawn(3, 7, 10)),
    Net("pre_partitioned_fill_test_predict_net",
        lambda v: [(numpy.arange(4).reshape(2, 2) + first).astype(kind)
                   for first, kind in ((0, F), (0, I32), (0, I64), (128, U8))],
        init="fill_test_init_net"),
    Net("pre_partitioned_multi_op_predict_net",
        lambda v: (lambda m: v["mm0_in"] * m - (m + v["add_in"]))(
            v["mm0_in"] @ v["mm1_in"]),
        mm0_in=drawn(4, 4), mm1_in=drawn(4, 4), add_in=drawn(4, 4)),
    Net("predict_net",
        lambda v: ref.conv(v["gpu_0/data_0"], v["conv_w"], v["conv_b"], pad=1,
                           dilation=2),
        init="init_net", **IMAGE),
    Net("prelu",
        lambda v: numpy.where(
            v["prelu_test_input"] < 0,
            v["prelu_test_input"] * v["slope"][:, None, None], v["prelu_test_input"]),
        prelu_test_input=drawn(2, 3, 2, 2), slope=drawn(3)),
    Net("reduce_back_sum", lambda v: v["inputs_0"].sum(axis=-1),
        inputs_0=drawn(3, 2, 4)),
    Net("reducebackmean", lambda v: v["input"].mean(axis=-1), input=drawn(3, 2, 4)),
    Net("replace_nan_predict_net",
        lambda v: numpy.where(numpy.isnan(v["input"]), 1, v["input"]),
        input=nans(10, 10)),
    Net("resize_nearest_op_net",
        lambda v: v["input_0"][:, numpy.arange(8) // 2][
            :, :, (numpy.arange(6) / 1.5).astype(int)],
        input_0=drawn(1, 4, 4, 3)),
    Net("rmsnorm",
        lambda v: (lambda r: [v["x"] * r * v["gamma"] + v["beta"], r[:, 0]])(
            1 / numpy.sqrt((v["x"] ** 2).mean(axis=1, keepdims=True) + 1)),
        x=drawn(3, 4), gamma=drawn(4), beta=drawn(4)),
    Net("scale", lambda v: v["input"] * 2, input=drawn(4, 2)),
    Net("sigmoid", lambda v: 1 / (1 + numpy.exp(-v["sigmoid_test_input"])),
        sigmoid_test_input=drawn(4, 2)),
    Net("sign", lambda v: numpy.sign(v["input"]), input=numbers(-3, 0, 5, kind=F)),
    Net("softplus", lambda v: numpy.log1p(numpy.exp(v["input"])),
        input=drawn(3, 4, low=-9, high=9)),
    Net("sparse_to_dense",
        lambda v: ref.sparse_to_dense(v["indices"], v["values"], 20),
        indices=numbers(3, 7, 3, 19, 0, kind=I64), values=drawn(5, 2, 3),
        dataToInferDim=drawn(20, 1)),
    Net("sparse_to_dense_mask_op_net",
        lambda v: ref.sparse_to_dense_mask(v["indices"], v["values"], v["defaultValue"],
                                           [42, 100, 300, 1, 0, 312]),
        indices=numbers(42, 100, 7, 312, kind=I64), values=drawn(4, 2, 2),
        defaultValue=drawn(2, 2)),
    Net("sparselabelsplit",
        lambda v: ref.sparse_label_split(v["lengths"], v["indices"], v["values"], 4),
        verify=False,
        lengths=numbers(1, 2, 5, 0), indices=numbers(3, 0, 1, 2, 2, 1, 0, 3, kind=I64),
        values=drawn(8)),
    Net("sqr_predict_net", lambda v: v["input"] ** 2, input=drawn(4, 2)),
    Net("swish_op_net", lambda v: v["input"] / (1 + numpy.exp(-v["input"])),
        input=drawn(10)),
    Net("topk_k2",
        lambda v: [-numpy.sort(-v["input"])[:, :2],
                   numpy.argsort(-v["input"])[:, :2].astype(I64)],
        input=drawn(3, 3)),
    Net("gaussian_fill_input_as_shape", lambda v: Random((4, 5, 6, 7), 0, 1),
        init="gaussian_fill_input_as_shape_init"),
    Net("gaussian_fill_use_input_shape", lambda v: Random((40, 5), 0, 1),
        inputs_0=drawn(40, 5)),
    Net("gaussian_fill_use_input_shape_with_extra_shape",
        lambda v: Random((4, 5, 2, 3), 0, 1), inputs_0=drawn(4, 5)),
    Net("gaussian_fill_use_provided_shape", lambda v: Random((4, 5, 6, 7), 0, 1)),
    Net("uniform_fill_input_as_shape",
        lambda v: Random((4, 5, 6, 7), 5, 10 / 12**0.5, 0, 10),
        init="gaussian_fill_input_as_shape_init"),
    Net("uniform_fill_use_input_shape",
        lambda v: Random((4, 50), 5, 10 / 12**0.5, 0, 10), inputs_0=drawn(4, 50)),
]
