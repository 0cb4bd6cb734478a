/* The parts of vta.form-units: one for each kind of operator, and the rows they share. */

#ifndef VTA_FORM_H
#define VTA_FORM_H

#include "pack.h"
#include "vta.h"

/* Rewrites of an operator, each NULL where the accelerator cannot do it. */
glow_value *form_convolution(glow_builder *b, glow_node *n);
glow_value *form_channelwise(glow_builder *b, glow_node *n);
glow_value *form_fullyconnected(glow_builder *b, glow_node *n);
glow_value *form_rowwise(glow_builder *b, glow_node *n);
glow_value *form_matmul(glow_builder *b, glow_node *n);
glow_value *form_add(glow_builder *b, glow_node *n);
glow_value *form_maxpool(glow_builder *b, glow_node *n);
/* The bounds of a Relu or Clip, in the unit before it. */
glow_value *form_relu(glow_builder *b, glow_node *n);
glow_value *form_clip(glow_builder *b, glow_node *n);

/* The filter of a convolution or product, with the strides of its weights. */
typedef struct filter {
    const glow_value *weights, *bias; /* bias may be NULL */
    int64_t groups, results;
    int64_t channels, taps; /* of a group, after fold_stride */
    int64_t block, across;  /* side of a block of pixels; taps in a row */
    int64_t kernel[2];      /* of the operator */
    /* Of each result, where it has its own: scales, offsets (NULL: 0). */
    const glow_value *scales, *offsets, *bias_scales, *bias_offsets;
    int64_t result_step, tap_step, channel_step; /* in elements of weights */
    int64_t macs; /* of the operator, without the padding of channels */
} filter;

/* The unit, or its steps, in place of `n`. */
glow_value *form_unit(glow_builder *b, glow_node *n, glow_value *x,
                      const filter *f, vta_conv v, const glow_type *result);
/* Why the accelerator cannot do it, or NULL. */
const char *form_why_not(const filter *f, const glow_value *x,
                         const glow_value *y);

/* True if the elements are i8 without offset, one behind the other. */
bool form_is_i8(const glow_value *v);
/* Remarks why `n` stays; NULL. */
glow_value *form_leave(glow_builder *b, const glow_node *n, const char *why);
/* Up to a multiple of VTA_LANES. */
int64_t form_round_up(int64_t n);
/* True if all sizes are `least` or more, and not too large for a field. */
bool form_in_limits(glow_dims d, int64_t least);
/* True for the backend vta.units, whose units take steps. */
bool form_has_units(glow_builder *b);

/* The unit's result that `v` is the first channels of, or NULL. */
glow_value *form_unsliced(glow_value *v);
/* `v` with zeros for channels up to a multiple of 16. */
glow_value *form_padded(glow_builder *b, glow_value *v);
/* The first channels of `v`, of the type `t`. */
glow_value *form_sliced(glow_builder *b, glow_value *v, const glow_type *t);

/* The least element of an immediate of `round`. */
static inline int
form_least_of(int32_t immediate)
{
    return (int8_t)(immediate >> 8);
}

#endif
