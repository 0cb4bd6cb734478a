/*
 * fold-dilated-convolution: turn a space-to-batch convolution into a dilated
 * convolution.
 *
 *     %a = Reshape(%x : [N, 8, 8, C]) : [N, 4, 2, 4, 2, C]
 *     %b = Transpose(%a)              : [2, 2, N, 4, 4, C]
 *     %c = Reshape(%b)                : [2 2 N, 4, 4, C]
 *     %d = Convolution(%c, %f, %p) {Pads: [1, 1, 1, 1]} : [2 2 N, 4, 4, O]
 *     %e = Reshape(%d)                : [2, 2, N, 4, 4, O]
 *     %g = Transpose(%e)              : [N, 4, 2, 4, 2, O]
 *     %y = Reshape(%g)                : [N, 8, 8, O]
 *         =>
 *     %y = Convolution(%x, %f, %p) {Pads: [2, 2, 2, 2], Dilation: [2, 2]}
 *
 * The phases of the image, every second element of each axis, are convolved as
 * separate batches.  Adjacent taps in a phase are two elements apart in the
 * image, so this is a convolution of the image with dilation and pads
 * multiplied by the block.  Its strides must be 1.
 *
 * Axes are tracked as mixed-radix digits: an axis of 8 that is split to 4 by 2
 * has a digit of 4, of weight 2, and one of 2, of weight 1.  After any
 * reshapes, transposes and SpaceToDepth before the convolution, its spatial
 * axes must be the high digits of those of %x and its channels the channels;
 * the nodes after it must restore the order of digits.  Any number of axes,
 * blocks, batches and groups is matched.
 *
 * TensorFlow writes dilation as SpaceToBatchND and BatchToSpaceND, and
 * exporters write these as reshapes and transposes; their padding is a Pad,
 * which fold-pad merges.  Glow matches one form, with Transposes around
 * SpaceToDepth.  Intermediate results must have no other users.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

#define MOST_DIGITS 24
#define MOST_NODES 6 /* on either side */

typedef struct digit {
    int axis; /* of the image */
    int64_t size, worth;
} digit;

/*
 * The digits of a value's axes: axis i has digits begin[i] to begin[i + 1] - 1.
 */
typedef struct digits {
    digit at[MOST_DIGITS];
    int begin[GLOW_MAX_RANK + 1];
    int rank, count;
} digits;

static bool
push(digits *d, digit v)
{
    if (d->count == MOST_DIGITS)
        return false;
    if (v.size > 1)
        d->at[d->count++] = v;
    return true;
}

static void
begin_axis(digits *d)
{
    d->begin[d->rank++] = d->count;
    d->begin[d->rank] = d->count;
}

static void
end_axis(digits *d)
{
    d->begin[d->rank] = d->count;
}

/*
 * Regroups the digits to the axes of `shape`, splitting digits where needed;
 * false if impossible.
 */
static bool
regroup(digits *d, glow_dims shape)
{
    digits old = *d;
    int i = 0;

    d->rank = d->count = 0;
    for (int axis = 0; axis < shape.rank; axis++) {
        int64_t need = shape.at[axis];

        begin_axis(d);
        while (need > 1) {
            digit *v = &old.at[i];
            digit high;

            if (i == old.count)
                return false;
            if (need % v->size == 0) {
                high = *v;
                i++;
            } else if (v->size % need == 0) {
                v->size /= need;
                high = (digit){v->axis, need, v->worth * v->size};
            } else {
                return false;
            }
            need /= high.size;
            if (!push(d, high))
                return false;
        }
        end_axis(d);
    }
    return i == old.count;
}

static bool
permute(digits *d, glow_dims perm)
{
    digits old = *d;

    d->rank = d->count = 0;
    for (int i = 0; i < perm.rank; i++) {
        int axis = (int)perm.at[i];

        begin_axis(d);
        for (int k = old.begin[axis]; k < old.begin[axis + 1]; k++)
            push(d, old.at[k]);
        end_axis(d);
    }
    return true;
}

/*
 * SpaceToDepth: moves the blocks of the two spatial axes before the channels.
 */
static bool
move_blocks(digits *d, glow_dims x, glow_dims y, int64_t block)
{
    return regroup(d, GLOW_DIMS_OF(x.at[0], y.at[1], block, y.at[2], block,
                                   x.at[3])) &&
           permute(d, GLOW_DIMS_OF(0, 1, 3, 2, 4, 5)) && regroup(d, y);
}

/*
 * Applies a layout node `n` to the digits of its operand; false for other
 * operators.
 */
static bool
apply(digits *d, const glow_node *n)
{
    const glow_transpose *t = GLOW_AS(transpose, n);
    const glow_spacetodepth *s = GLOW_AS(spacetodepth, n);

    if (t)
        return permute(d, t->shuffle);
    if (s)
        return move_blocks(d, n->in[0]->type->shape, n->out[0]->type->shape,
                           s->block_size);
    return glow_is(n, &glow_op_reshape) && regroup(d, n->out[0]->type->shape);
}

/*
 * True if `axis` is the digit of axis `of` of the image with `size` and weight
 * `worth`.
 */
static bool
is_part(const digits *d, int axis, int of, int64_t size, int64_t worth)
{
    int64_t next = size * worth;

    for (int i = d->begin[axis]; i < d->begin[axis + 1]; i++) {
        if (d->at[i].axis != of || d->at[i].worth * d->at[i].size != next)
            return false;
        next = d->at[i].worth;
    }
    return size == 1 || next == worth;
}

/* True if the digits are those of the image with this shape, in order. */
static bool
is_whole(const digits *d, glow_dims shape)
{
    for (int i = 0; i < shape.rank; i++)
        if (d->rank != shape.rank || !is_part(d, i, i, shape.at[i], 1))
            return false;
    return true;
}

/* A convolution of phases. */
typedef struct frame {
    const glow_node *conv;
    glow_value *image;
    glow_dims block; /* per spatial axis */
    digits d;
} frame;

static digits
digits_of(glow_dims shape)
{
    digits d = {.rank = 0};

    for (int i = 0; i < shape.rank; i++) {
        begin_axis(&d);
        push(&d, (digit){i, shape.at[i], 1});
        end_axis(&d);
    }
    return d;
}

/*
 * True if the axes of the convolution's operand are the high digits of the
 * image's axes.
 */
static bool
is_phased(frame *f)
{
    glow_dims x = f->image->type->shape;
    glow_dims in = f->conv->in[0]->type->shape;
    int last = in.rank - 1;
    bool blocks = false;

    if (x.rank != in.rank || !is_part(&f->d, last, last, x.at[last], 1))
        return false;
    f->block = (glow_dims){.rank = last - 1};
    for (int i = 1; i < last; i++) {
        int64_t block = x.at[i] / in.at[i];

        if (block * in.at[i] != x.at[i] ||
            !is_part(&f->d, i, i, in.at[i], block))
            return false;
        f->block.at[i - 1] = block;
        blocks |= block > 1;
    }
    return blocks;
}

/* Finds the image whose phases are convolved, from the convolution up. */
static bool
find_image(frame *f)
{
    const glow_node *path[MOST_NODES];
    glow_value *v = f->conv->in[0];

    for (int n = 0; n < MOST_NODES && v->def && !v->def->pred; n++) {
        if (!glow_has_one_use(v) || v->def->n_in != 1 || v->def->n_out != 1)
            return false;
        path[n] = v->def;
        v = v->def->in[0];
        if (glow_type_count(v->type) == 0)
            return false;
        f->image = v;
        f->d = digits_of(v->type->shape);
        for (int i = n; i >= 0; i--)
            if (!apply(&f->d, path[i]))
                return false;
        if (is_phased(f))
            return true;
    }
    return false;
}

/*
 * Sets f->d to the digits of the convolution's result, and `*image` to the
 * shape of the result image.
 */
static bool
convolved(frame *f, glow_dims *image)
{
    glow_dims y = f->conv->out[0]->type->shape;
    digits d = {.rank = 0};
    bool ok = true;

    *image = y;
    image->at[0] = f->image->type->shape.at[0];
    begin_axis(&d);
    for (int i = f->d.begin[0]; i < f->d.begin[1]; i++)
        ok &= push(&d, f->d.at[i]);
    end_axis(&d);
    for (int i = 1; i < y.rank - 1; i++) {
        int64_t block = f->block.at[i - 1];

        begin_axis(&d);
        ok &= push(&d, (digit){i, y.at[i], block});
        end_axis(&d);
        image->at[i] = y.at[i] * block;
    }
    begin_axis(&d);
    ok &= push(&d, (digit){y.rank - 1, y.at[y.rank - 1], 1});
    end_axis(&d);
    f->d = d;
    return ok;
}

/* The node after which the result image is complete, or NULL. */
static glow_node *
find_end(frame *f)
{
    glow_value *v = f->conv->out[0];
    glow_dims image;

    if (!convolved(f, &image))
        return NULL;
    for (int n = 0; n < MOST_NODES && glow_has_one_use(v); n++) {
        glow_node *u = v->uses->user;

        if (u->pred || u->n_out != 1 || !apply(&f->d, u))
            return NULL;
        if (is_whole(&f->d, image))
            return u;
        v = u->out[0];
    }
    return NULL;
}

/* Multiplies dilation and pads by the block; false on overflow. */
static bool
scale(glow_convolution *c, glow_dims block)
{
    int axes = block.rank;

    if (!c->dilation.rank) {
        c->dilation.rank = axes;
        for (int i = 0; i < axes; i++)
            c->dilation.at[i] = 1;
    }
    for (int i = 0; i < axes; i++) {
        int64_t by = block.at[i];

        if (c->strides.at[i] != 1 ||
            glow_mul_overflow(c->dilation.at[i], by, &c->dilation.at[i]) ||
            glow_mul_overflow(c->pads.at[i], by, &c->pads.at[i]) ||
            glow_mul_overflow(c->pads.at[axes + i], by, &c->pads.at[axes + i]))
            return false;
    }
    return true;
}

/* The node `n` of the image, of attributes `c`. */
static glow_value *
build(glow_builder *b, const glow_node *n, glow_value *image,
      const glow_type *type, const glow_convolution *c)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        in[i] = i ? n->in[i] : image;
    return glow_build(b, n->op, glow_states_type(n) ? type : NULL, in, n->n_in,
                      c);
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    frame f = {.conv = n};
    glow_convolution c = *(const glow_convolution *)n->attrs;
    glow_node *end;
    glow_value *y;

    if (n->pred || !find_image(&f) || !scale(&c, f.block))
        return NULL;
    end = find_end(&f);
    if (!end || glow_is_unused(end->out[0])) /* unused: rewritten before */
        return NULL;
    y = build(b, n, f.image, end->out[0]->type, &c);
    if (!y || y->type != end->out[0]->type)
        return NULL;
    glow_builder_replace(b, end, 0, y);
    return glow_keep_rewritten(n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_channelwisequantizedconvolution, fold},
        {&glow_op_convolution, fold},
        {NULL, NULL},
    };
    glow_result r = glow_rewrite_each(pass, f, rows, NULL);

    if (r == GLOW_CHANGED)
        glow_erase_unused(f);
    return r;
}

const glow_pass glow_pass_fold_dilated_convolution = {
    .name = "fold-dilated-convolution",
    .summary = "space-to-batch convolutions to dilated convolutions",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .takes_quantized = true,
    .run = run,
    .source = "Glow FoldDilatedConv; Chen et al., arXiv:1412.7062, section 3.1",
};
