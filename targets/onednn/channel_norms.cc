// oneDNN's group and batch normalization. Images are [batch, channels, space...]: those of nhwc are seen so through their strides. Scale,
// shift and statistics are float32 whatever the type of the image; vectors of another type are converted by the library's own reorder.
#include "library.h"

namespace normfuzz {
namespace {

int32_t channels_axis(const TargetCall& call, const DLTensor& x) { return call.text("layout", "nchw") == "nhwc" ? x.ndim - 1 : 1; }

// At least [batch, channels, 1].
memory::desc image_desc(const DLTensor& tensor, int32_t channels) {
  memory::dims dims = {tensor.shape[0], tensor.shape[channels]}, strides = {tensor.strides[0], tensor.strides[channels]};
  for (int32_t i = 1; i < tensor.ndim; ++i) {
    if (i == channels) continue;
    dims.push_back(tensor.shape[i]);
    strides.push_back(tensor.strides[i]);
  }
  if (dims.size() == 2) {
    dims.push_back(1);
    strides.push_back(1);
  }
  return memory::desc(dims, data_type(tensor), strides);
}

void reorder(const memory& from, const memory& to) { execute(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}); }

memory::desc channel_desc(int64_t channels) { return memory::desc({channels}, DataType::f32, memory::format_tag::a); }

// A vector by channel as float32: in place where it is one.
class ChannelVector {
 public:
  ChannelVector(const DLTensor& tensor, int64_t channels, const char* name) : dense_(tensor) {
    if (element_count(tensor) != channels)
      throw Rejected(std::string(name) + " of " + std::to_string(element_count(tensor)) + " elements: expected " +
                     std::to_string(channels) + ", one a channel");
    const memory own = dense_.as_memory();
    float32_ = data_type(tensor) == DataType::f32 ? own : scratch(channel_desc(channels));
  }
  const memory& gather() {
    dense_.gather();
    if (const memory own = dense_.as_memory(); own.get_data_handle() != float32_.get_data_handle()) reorder(own, float32_);
    return float32_;
  }
  const memory& target() const { return float32_; }
  void scatter() {
    if (const memory own = dense_.as_memory(); own.get_data_handle() != float32_.get_data_handle()) reorder(float32_, own);
    dense_.scatter();
  }

 private:
  DenseVector dense_;
  memory float32_;
};

struct Image {
  int32_t channels_axis = 1;
  int64_t channels = 1, groups = 0;  // groups 0: of the batch
  float epsilon = 0;
  normalization_flags flags = normalization_flags::none;
};

Image read_image(const TargetCall& call, const DLTensor& x) {
  if (x.ndim < 2) throw Rejected("x of rank " + std::to_string(x.ndim) + ", expected at least 2");
  Image image;
  image.channels_axis = channels_axis(call, x);
  image.channels = x.shape[image.channels_axis];
  if (call.op().starts_with("group_norm")) image.groups = call.integer("groups", 1);
  if (call.op().starts_with("instance_norm")) image.groups = image.channels;
  image.epsilon = static_cast<float>(call.number("epsilon", 1e-5));
  return image;
}

// Forward by either primitive: its arguments but for statistics, and what the backward takes as its hint.
template <class Group, class Batch>
auto with_forward(const Image& image, dnnl::prop_kind kind, const memory::desc& x, const memory::desc& y, Group group, Batch batch) {
  if (image.groups > 0)
    return group(dnnl::group_normalization_forward::primitive_desc(library().engine, kind, x, y, image.groups, image.epsilon, image.flags));
  return batch(dnnl::batch_normalization_forward::primitive_desc(library().engine, kind, x, y, image.epsilon, image.flags));
}

}  // namespace

std::string channel_forward(const TargetCall& call) {
  call.require_known({"x", "weight", "bias", "running_mean", "running_var"}, {"y", "running_mean_new", "running_var_new"},
                     {"epsilon", "layout", "groups", "training", "momentum", "variance"});
  const DLTensor &x = call.required_input("x"), &y = call.required_output("y");
  Image image = read_image(call, x);
  std::unordered_map<int, memory> arguments;
  std::vector<ChannelVector> vectors;
  vectors.reserve(4);
  const auto add = [&](const DLTensor* tensor, int argument, normalization_flags flag, const char* name) {
    if (tensor == nullptr) return;
    image.flags |= flag;
    arguments.emplace(argument, vectors.emplace_back(*tensor, image.channels, name).gather());
  };
  add(call.input("weight"), DNNL_ARG_SCALE, normalization_flags::use_scale, "weight");
  add(call.input("bias"), DNNL_ARG_SHIFT, normalization_flags::use_shift, "bias");
  const bool training = image.groups == 0 && call.integer("training", 0) == 1;
  if (image.groups == 0 && !training) {
    if (call.input("running_mean") == nullptr) throw Unsupported("without running statistics there is nothing to normalize by");
    add(call.input("running_mean"), DNNL_ARG_MEAN, normalization_flags::use_global_stats, "running_mean");
    add(call.input("running_var"), DNNL_ARG_VARIANCE, normalization_flags::use_global_stats, "running_var");
  }
  if (call.output("running_mean_new") != nullptr) throw Unsupported("oneDNN returns the batch's statistics and keeps no running ones");
  const memory::desc x_desc = image_desc(x, image.channels_axis), y_desc = image_desc(y, image.channels_axis);
  arguments.emplace(DNNL_ARG_SRC, wrap(x_desc, tensor_data(x)));
  arguments.emplace(DNNL_ARG_DST, wrap(y_desc, tensor_data(y)));
  const auto run = [&]<class Primitive>(const auto& desc, Primitive*) {
    if (training) {
      arguments.emplace(DNNL_ARG_MEAN, scratch(desc.mean_desc()));
      arguments.emplace(DNNL_ARG_VARIANCE, scratch(desc.variance_desc()));
    }
    execute(Primitive(desc), arguments);
    return std::string("impl: ") + desc.impl_info_str();
  };
  return with_forward(
      image, training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, x_desc, y_desc,
      [&](const auto& desc) { return run(desc, static_cast<dnnl::group_normalization_forward*>(nullptr)); },
      [&](const auto& desc) { return run(desc, static_cast<dnnl::batch_normalization_forward*>(nullptr)); });
}

namespace {

// Scale and shift as the backward takes them, and where their gradients go. An absent weight means ones.
struct ChannelGradients {
  std::unordered_map<int, memory> arguments;
  std::optional<ChannelVector> weight, dweight, dbias;
  std::vector<char> ones, zeros;

  ChannelGradients(const TargetCall& call, Image& image) {
    const DLTensor* gradient_of_weight = call.output("dweight");
    const memory::desc vector = channel_desc(image.channels);
    if (const DLTensor* tensor = call.input("weight")) {
      weight.emplace(*tensor, image.channels, "weight");
      arguments.emplace(DNNL_ARG_SCALE, weight->gather());
    } else if (gradient_of_weight != nullptr) {
      ones = dense_ones(DataType::f32, image.channels);
      arguments.emplace(DNNL_ARG_SCALE, wrap(vector, ones.data()));
    }
    if (!arguments.empty()) {
      image.flags |= normalization_flags::use_scale;
      if (gradient_of_weight != nullptr) dweight.emplace(*gradient_of_weight, image.channels, "dweight");
      arguments.emplace(DNNL_ARG_DIFF_SCALE, dweight ? dweight->target() : scratch(vector));
    }
    if (const DLTensor* gradient = call.output("dbias")) {
      image.flags |= normalization_flags::use_shift;
      dbias.emplace(*gradient, image.channels, "dbias");
      arguments.emplace(DNNL_ARG_DIFF_SHIFT, dbias->target());
      zeros.resize(vector.get_size());
      arguments.emplace(DNNL_ARG_SHIFT, wrap(vector, zeros.data()));
    }
  }
  void scatter() {
    if (dweight) dweight->scatter();
    if (dbias) dbias->scatter();
  }
};

}  // namespace

std::string channel_backward(const TargetCall& call) {
  call.require_known({"x", "dy", "weight"}, {"dx", "dweight", "dbias"}, {"epsilon", "layout", "groups"});
  const DLTensor &x = call.required_input("x"), &dy = call.required_input("dy"), &dx = call.required_output("dx");
  Image image = read_image(call, x);
  ChannelGradients affine(call, image);
  const memory::desc x_desc = image_desc(x, image.channels_axis), dy_desc = image_desc(dy, image.channels_axis),
                     dx_desc = image_desc(dx, image.channels_axis);
  const dnnl::prop_kind kind = affine.dweight || affine.dbias ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data;
  std::unordered_map<int, memory> arguments = affine.arguments;
  arguments.emplace(DNNL_ARG_SRC, wrap(x_desc, tensor_data(x)));
  // The statistics are those of the library's own forward pass in training mode.
  const auto statistics = [&]<class Primitive>(const auto& desc, Primitive*) {
    arguments.emplace(DNNL_ARG_MEAN, scratch(desc.mean_desc()));
    arguments.emplace(DNNL_ARG_VARIANCE, scratch(desc.variance_desc()));
    std::unordered_map<int, memory> forward = arguments;
    forward.emplace(DNNL_ARG_DST, scratch(desc.dst_desc()));
    execute(Primitive(desc), forward);
    arguments.emplace(DNNL_ARG_DIFF_DST, wrap(dy_desc, tensor_data(dy)));
    arguments.emplace(DNNL_ARG_DIFF_SRC, wrap(dx_desc, tensor_data(dx)));
  };
  const std::string implementation = with_forward(
      image, dnnl::prop_kind::forward_training, x_desc, x_desc,
      [&](const dnnl::group_normalization_forward::primitive_desc& forward) {
        statistics(forward, static_cast<dnnl::group_normalization_forward*>(nullptr));
        const dnnl::group_normalization_backward::primitive_desc desc(library().engine, kind, dx_desc, dy_desc, x_desc, image.groups,
                                                                      image.epsilon, image.flags, forward);
        execute(dnnl::group_normalization_backward(desc), arguments);
        return std::string(desc.impl_info_str());
      },
      [&](const dnnl::batch_normalization_forward::primitive_desc& forward) {
        statistics(forward, static_cast<dnnl::batch_normalization_forward*>(nullptr));
        const dnnl::batch_normalization_backward::primitive_desc desc(library().engine, kind, dx_desc, dy_desc, x_desc, image.epsilon,
                                                                      image.flags, forward);
        execute(dnnl::batch_normalization_backward(desc), arguments);
        return std::string(desc.impl_info_str());
      });
  affine.scatter();
  return "impl: " + implementation;
}

}  // namespace normfuzz
