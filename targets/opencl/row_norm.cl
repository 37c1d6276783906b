// layer_norm and rms_norm over strided rows, one work-group per row, and their gradients.
//
// Built once per element type with these definitions:
//   TYPE      element type of x, dy and the result: FLOAT32, FLOAT16, BFLOAT16 or FLOAT64; statistics are in float, for FLOAT64 in double
//   LANES     columns that a work-item takes at once: 4, or 1 (no vector loads)
//   ITEMS     work-items of a group, a power of two
//   SUBGROUPS sums within sub-groups by the device's own reduction, then over the sub-groups; else a tree over the work-group
//   WELFORD   layer_norm: Welford's moments, merged in a tree; else two passes
// The kernels' argument `rms` says which of the two ops: it is the same for every work-item.
//
// Which columns a work-item takes depends on their number alone: never on layout, alignment or other rows. Divisions by the number of
// columns are multiplications by its reciprocal, which the host rounds correctly: OpenCL allows a division 2.5 ulp. The multiplication by
// rsqrt may be off by the 2 ulp that OpenCL allows.
#pragma OPENCL FP_CONTRACT OFF

#define FLOAT32 0
#define FLOAT16 1
#define BFLOAT16 2
#define FLOAT64 3

#if TYPE == FLOAT64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double Number;
#define ITEM_SIZE 8
#elif TYPE == FLOAT32
typedef float Number;
#define ITEM_SIZE 4
#else
typedef float Number;
#define ITEM_SIZE 2
#endif
#if SUBGROUPS && !defined(__opencl_c_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif

// targets/row_task.h, in OpenCL's types.
#define MAX_DIMS 4
typedef struct {
  long offset, outer_stride[MAX_DIMS], inner_stride[MAX_DIMS];
  int type, contiguous;
} Tensor;
typedef struct {
  long rows, cols, outer_shape[MAX_DIMS], inner_shape[MAX_DIMS];
  int outer_rank, inner_rank;
  long statistics_offset;
  Tensor x, dy, weight, bias, result, dweight, dbias;
} Task;
typedef const __global Task* TaskPointer;
typedef const __global Tensor* TensorPointer;

// Called from many places: inlined, they are most of the time that a compiler takes.
#define OUTLINED __attribute__((noinline))

// ---- elements ----

float float_of_bfloat(ushort bits) { return as_float((uint)bits << 16); }
// Round to nearest even on the bits; infinity follows from the carry, a NaN stays one.
ushort bfloat_of_float(float value) {
  const uint bits = as_uint(value);
  if (isnan(value)) return (ushort)((bits >> 16) | 0x40);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

OUTLINED Number load_as(int type, const __global uchar* p) {
  if (type == FLOAT32) return *(const __global float*)p;
  if (type == FLOAT16) return vload_half(0, (const __global half*)p);
  if (type == BFLOAT16) return float_of_bfloat(*(const __global ushort*)p);
#if TYPE == FLOAT64
  return *(const __global double*)p;
#else
  return 0;
#endif
}

OUTLINED void store_as(int type, __global uchar* p, Number value) {
#if TYPE == FLOAT64
  if (type == FLOAT64) *(__global double*)p = value;
  if (type == FLOAT32) *(__global float*)p = convert_float_rte(value);
  if (type == FLOAT16) vstore_half_rte(value, 0, (__global half*)p);
#else
  if (type == FLOAT32) *(__global float*)p = value;
  if (type == FLOAT16) vstore_half_rte(value, 0, (__global half*)p);
  if (type == BFLOAT16) *(__global ushort*)p = bfloat_of_float(value);
#endif
}

// LANES neighbours; vload needs no more alignment than an element has.
void load_neighbours(const __global uchar* p, Number* v) {
#if LANES == 1
  v[0] = load_as(TYPE, p);
#else
#if TYPE == FLOAT64
  const double4 four = vload4(0, (const __global double*)p);
#elif TYPE == FLOAT32
  const float4 four = vload4(0, (const __global float*)p);
#elif TYPE == FLOAT16
  const float4 four = vload_half4(0, (const __global half*)p);
#else
  const float4 four = as_float4(convert_uint4(vload4(0, (const __global ushort*)p)) << 16);
#endif
  v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
#endif
}

void store_neighbours(__global uchar* p, const Number* v) {
#if LANES == 1
  store_as(TYPE, p, v[0]);
#elif TYPE == FLOAT64
  vstore4((double4)(v[0], v[1], v[2], v[3]), 0, (__global double*)p);
#elif TYPE == FLOAT32
  vstore4((float4)(v[0], v[1], v[2], v[3]), 0, (__global float*)p);
#elif TYPE == FLOAT16
  vstore_half4_rte((float4)(v[0], v[1], v[2], v[3]), 0, (__global half*)p);
#else
  vstore4((ushort4)(bfloat_of_float(v[0]), bfloat_of_float(v[1]), bfloat_of_float(v[2]), bfloat_of_float(v[3])), 0, (__global ushort*)p);
#endif
}

int item_size(int type) { return type == FLOAT64 ? 8 : type == FLOAT32 ? 4 : 2; }

// Byte offset of a row's first element in the block.
OUTLINED long row_begin(TaskPointer task, TensorPointer t, long row) {
  long elements = 0;
  for (int i = task->outer_rank - 1; i >= 0; --i) {
    elements += row % task->outer_shape[i] * t->outer_stride[i];
    row /= task->outer_shape[i];
  }
  return t->offset + elements * item_size(t->type);
}

// From there to column `col`, in bytes.
OUTLINED long column_offset(TaskPointer task, TensorPointer t, long col) {
  if (t->contiguous) return col * item_size(t->type);
  long elements = 0;
  for (int i = task->inner_rank - 1; i >= 0; --i) {
    elements += col % task->inner_shape[i] * t->inner_stride[i];
    col /= task->inner_shape[i];
  }
  return elements * item_size(t->type);
}

// Columns col to col + count - 1 of a row of x, dy or the result; count is LANES or less.
void load_columns(TaskPointer task, TensorPointer t, const __global uchar* row, long col, int count, Number* v) {
  if (t->contiguous && count == LANES) {
    load_neighbours(row + col * ITEM_SIZE, v);
  } else {
    for (int i = 0; i < count; ++i) v[i] = load_as(TYPE, row + column_offset(task, t, col + i));
  }
}

void store_columns(TaskPointer task, TensorPointer t, __global uchar* row, long col, int count, const Number* v) {
  if (t->contiguous && count == LANES) {
    store_neighbours(row + col * ITEM_SIZE, v);
  } else {
    for (int i = 0; i < count; ++i) store_as(TYPE, row + column_offset(task, t, col + i), v[i]);
  }
}

// Of weight or bias; the number that stands for an absent one otherwise.
OUTLINED Number load_parameter(TaskPointer task, TensorPointer t, const __global uchar* block, long col, Number absent) {
  return t->offset < 0 ? absent : load_as(t->type, block + t->offset + column_offset(task, t, col));
}

OUTLINED Number weight_of(TaskPointer task, const __global uchar* block, long col, Number weight_offset) {
  const Number weight = load_parameter(task, &task->weight, block, col, 1);
  return weight_offset == 0 ? weight : weight_offset + weight;
}

// A work-item's columns: full groups of LANES at distance ITEMS groups, then at most one column of the tail per round.
typedef struct {
  long col;
  int count;
} Columns;
Columns first_columns(long cols, long item) {
  const long groups = cols / LANES;
  if (item < groups) return (Columns){item * LANES, LANES};
  return (Columns){groups * LANES + item, 1};
}
// The tail is taken by the first work-items after their full groups: tail column k by work-item k.
Columns next_columns(long cols, long item, Columns now) {
  const long groups = cols / LANES, tail = groups * LANES + item;
  if (now.count == LANES && now.col < groups * LANES) {
    const long next = now.col + (long)ITEMS * LANES;
    if (next < groups * LANES) return (Columns){next, LANES};
    return (Columns){tail, 1};
  }
  return (Columns){now.col + ITEMS, 1};
}

// ---- sums over a work-group ----

// The sum of every work-item's number, for all of them. `scratch`: ITEMS numbers.
Number group_sum(Number value, __local Number* scratch) {
  const int item = (int)get_local_id(0);
#if SUBGROUPS
  value = sub_group_reduce_add(value);
  if (get_sub_group_local_id() == 0) scratch[get_sub_group_id()] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  Number total = scratch[0];
  for (uint i = 1; i < get_num_sub_groups(); ++i) total += scratch[i];
#else
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_width = ITEMS / 2; half_width > 0; half_width /= 2) {
    if (item < half_width) scratch[item] += scratch[item + half_width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const Number total = scratch[0];
#endif
  barrier(CLK_LOCAL_MEM_FENCE);  // the next sum may overwrite it
  return total;
}

// This work-item's part of the sum of (x - mean)^power over a row, power 1 or 2.
Number partial_sum(TaskPointer task, const __global uchar* row, Number mean, int power) {
  const long item = (long)get_local_id(0);
  Number sum = 0, v[LANES];
  for (Columns c = first_columns(task->cols, item); c.col < task->cols; c = next_columns(task->cols, item, c)) {
    load_columns(task, &task->x, row, c.col, c.count, v);
    for (int i = 0; i < c.count; ++i) {
      const Number d = v[i] - mean;
      sum += power == 2 ? d * d : d;
    }
  }
  return sum;
}

#if WELFORD
typedef struct {
  Number mean, squares, count;
} Moments;

// Chan, Golub and LeVeque's merge.
Moments merged(Moments a, Moments b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const Number count = a.count + b.count, share = b.count / count, d = b.mean - a.mean;
  return (Moments){a.mean + d * share, a.squares + b.squares + d * d * (a.count * share), count};
}

Moments partial_moments(TaskPointer task, const __global uchar* row) {
  const long item = (long)get_local_id(0);
  Moments m = {0, 0, 0};
  Number v[LANES];
  for (Columns c = first_columns(task->cols, item); c.col < task->cols; c = next_columns(task->cols, item, c)) {
    load_columns(task, &task->x, row, c.col, c.count, v);
    for (int i = 0; i < c.count; ++i) {
      const Number d = v[i] - m.mean;
      m.count += 1;
      m.mean += d / m.count;
      m.squares += d * (v[i] - m.mean);
    }
  }
  return m;
}
#endif

typedef struct {
  Number mean, scale;  // scale = 1/sqrt(statistic + epsilon); mean of rms_norm: 0
} Statistics;

// Two passes, of which rms_norm needs the second with a mean of 0. (One place that sums: barriers are what compilers take long for.)
Statistics two_pass_moments(TaskPointer task, const __global uchar* row, int rms, Number reciprocal, __local Number* scratch) {
  Statistics s = {0, 0};
  for (int power = rms ? 2 : 1; power <= 2; ++power) {
    const Number average = group_sum(partial_sum(task, row, s.mean, power), scratch) * reciprocal;
    if (power == 1)
      s.mean = average;
    else
      s.scale = average;
  }
  return s;
}

#if WELFORD
Statistics welford_moments(TaskPointer task, const __global uchar* row, Number reciprocal, __local Number* scratch) {
  __local Moments* tree = (__local Moments*)scratch;
  const int item = (int)get_local_id(0);
  tree[item] = partial_moments(task, row);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_width = ITEMS / 2; half_width > 0; half_width /= 2) {
    if (item < half_width) tree[item] = merged(tree[item], tree[item + half_width]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const Statistics s = {tree[0].mean, tree[0].squares * reciprocal};
  barrier(CLK_LOCAL_MEM_FENCE);
  return s;
}
#endif

Statistics row_statistics(TaskPointer task, const __global uchar* row, int rms, Number epsilon, Number reciprocal, __local Number* scratch) {
  // The variance or the mean square, first, in place of the scale.
#if WELFORD
  Statistics s;
  if (rms)
    s = two_pass_moments(task, row, rms, reciprocal, scratch);
  else
    s = welford_moments(task, row, reciprocal, scratch);
#else
  Statistics s = two_pass_moments(task, row, rms, reciprocal, scratch);
#endif
  s.scale = rsqrt(s.scale + epsilon);
  return s;
}

#if WELFORD
#define SCRATCH_NUMBERS (3 * ITEMS)
#else
#define SCRATCH_NUMBERS ITEMS
#endif

// ---- kernels: a work-group per row, and a work-item per column for the sums over the rows; both go on with the next in line ----

void forward_row(__global uchar* block, TaskPointer task, long row, Number epsilon, Number weight_offset, Number reciprocal, int rms,
                 __local Number* scratch) {
  const long item = (long)get_local_id(0);
  const __global uchar* x = block + row_begin(task, &task->x, row);
  __global uchar* y = block + row_begin(task, &task->result, row);
  const Statistics s = row_statistics(task, x, rms, epsilon, reciprocal, scratch);
  Number v[LANES];
  for (Columns c = first_columns(task->cols, item); c.col < task->cols; c = next_columns(task->cols, item, c)) {
    load_columns(task, &task->x, x, c.col, c.count, v);
    for (int i = 0; i < c.count; ++i)
      v[i] = (v[i] - s.mean) * s.scale * weight_of(task, block, c.col + i, weight_offset) +
             load_parameter(task, &task->bias, block, c.col + i, 0);
    store_columns(task, &task->result, y, c.col, c.count, v);
  }
}

__kernel void forward(__global uchar* block, Number epsilon, Number weight_offset, Number reciprocal, int rms) {
  __local Number scratch[SCRATCH_NUMBERS];
  TaskPointer task = (TaskPointer)block;
  for (long row = (long)get_group_id(0); row < task->rows; row += (long)get_num_groups(0))
    forward_row(block, task, row, epsilon, weight_offset, reciprocal, rms, scratch);
}

// dx = scale (g - mean(g) - xhat mean(g xhat)), g = weight dy; rms_norm without mean(g). Leaves each row's statistics for the next kernel.
void input_gradient_row(__global uchar* block, TaskPointer task, long row, Number epsilon, Number weight_offset, Number reciprocal, int rms,
                        __local Number* scratch) {
  const long item = (long)get_local_id(0);
  const __global uchar *x = block + row_begin(task, &task->x, row), *dy = block + row_begin(task, &task->dy, row);
  __global uchar* dx = block + row_begin(task, &task->result, row);
  const Statistics s = row_statistics(task, x, rms, epsilon, reciprocal, scratch);
  if (item == 0) ((__global Statistics*)(block + task->statistics_offset))[row] = s;

  Number sums[2] = {0, 0}, v[LANES], g[LANES];
  for (Columns c = first_columns(task->cols, item); c.col < task->cols; c = next_columns(task->cols, item, c)) {
    load_columns(task, &task->x, x, c.col, c.count, v);
    load_columns(task, &task->dy, dy, c.col, c.count, g);
    for (int i = 0; i < c.count; ++i) {
      const Number weighted = weight_of(task, block, c.col + i, weight_offset) * g[i];
      sums[0] += weighted;
      sums[1] += weighted * ((v[i] - s.mean) * s.scale);
    }
  }
  Number means[2] = {0, 0};  // of g, not for rms_norm, and of g xhat
  for (int i = rms ? 1 : 0; i < 2; ++i) means[i] = group_sum(sums[i], scratch) * reciprocal;
  for (Columns c = first_columns(task->cols, item); c.col < task->cols; c = next_columns(task->cols, item, c)) {
    load_columns(task, &task->x, x, c.col, c.count, v);
    load_columns(task, &task->dy, dy, c.col, c.count, g);
    for (int i = 0; i < c.count; ++i) {
      const Number weighted = weight_of(task, block, c.col + i, weight_offset) * g[i];
      v[i] = s.scale * (weighted - means[0] - (v[i] - s.mean) * s.scale * means[1]);
    }
    store_columns(task, &task->result, dx, c.col, c.count, v);
  }
}

__kernel void input_gradient(__global uchar* block, Number epsilon, Number weight_offset, Number reciprocal, int rms) {
  __local Number scratch[SCRATCH_NUMBERS];
  TaskPointer task = (TaskPointer)block;
  for (long row = (long)get_group_id(0); row < task->rows; row += (long)get_num_groups(0))
    input_gradient_row(block, task, row, epsilon, weight_offset, reciprocal, rms, scratch);
}

// dweight = sum of dy xhat and dbias = sum of dy, over the rows from first to last.
void column_sums(__global uchar* block, TaskPointer task, long col) {
  const __global Statistics* statistics = (const __global Statistics*)(block + task->statistics_offset);
  const long x_column = column_offset(task, &task->x, col), dy_column = column_offset(task, &task->dy, col);
  Number dweight = 0, dbias = 0;
  for (long row = 0; row < task->rows; ++row) {
    const Number x = load_as(TYPE, block + row_begin(task, &task->x, row) + x_column);
    const Number dy = load_as(TYPE, block + row_begin(task, &task->dy, row) + dy_column);
    dweight += dy * ((x - statistics[row].mean) * statistics[row].scale);
    dbias += dy;
  }
  TensorPointer w = &task->dweight, b = &task->dbias;
  if (w->offset >= 0) store_as(w->type, block + w->offset + column_offset(task, w, col), dweight);
  if (b->offset >= 0) store_as(b->type, block + b->offset + column_offset(task, b, col), dbias);
}

__kernel void parameter_gradients(__global uchar* block) {
  TaskPointer task = (TaskPointer)block;
  for (long col = (long)get_global_id(0); col < task->cols; col += (long)get_global_size(0)) column_sums(block, task, col);
}
