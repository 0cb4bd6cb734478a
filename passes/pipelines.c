/*
 * The named pipelines, as tables with a reason for each entry.
 *
 * -O0 to -O3 and -Os compile a graph to a program with a place for every
 * buffer, which every backend takes.  Under -exact, passes that round
 * differently are left out of each: see exact.c.
 */

#include <string.h>

#include "glow/pipeline.h"

/* The tables of rules. */
static const glow_pipeline_entry algebra[] = {
    {"simplify-arithmetic", "factors of 1 and negatives hide what is behind"},
    {"simplify-logic", "masks that are always or never so"},
    {"simplify-clamp", "bounds that meet are one, and some hold anyway"},
    {"reduce-strength", "quotients become products, which go together"},
    {"reassociate", "constants that meet are one"},
    {"fold-splat", "numbers that meet are one, without a tensor of them"},
    {"sink-unary,fold-convert", "conversions that meet are one"},
    {0},
};

/* Valid before and after lowering: no entry builds composite operators. */
static const glow_pipeline_entry simplify[] = {
    {"dce", "branches that only training used: nobody should look at them"},
    {"fixpoint(algebra,fold-constants,cse)",
     "identities make constants and equal nodes, and those identities"},
    {"drop-unused-results", "positions of maxima that nobody asks for"},
    {"fold-broadcast,hoist-unary",
     "before passes look for what repeats along an axis, or what feeds an "
     "activation"},
    {"fold-gather", "transposes go below slices"},
    {"fixpoint(eliminate-identity,fold-transpose,cse,place-transpose)",
     "importers wrap convolution and pooling into transposes: done where they "
     "move the fewest bytes, most of them meet and cancel"},
    {"fold-pad,shrink-window",
     "windows have frames of their own, and do not see all that they could"},
    {"exchange-axes",
     "backends compute neighbors along the last spatial axis at once"},
    {"fold-dilated-convolution,merge-group-convolution",
     "images taken apart in phases, or channels in groups, and joined again"},
    {"fixpoint(sink-moves,sink-reshape,absorb-reshape,absorb-shuffle,"
     "absorb-transpose,"
     "unwrap-transpose,fold-reshape,fold-transpose)",
     "reshapes meet on their way down, or what sees the shape by itself"},
    {"fixpoint(fold-reshape,fold-empty,fold-gather,fold-insert,fold-slice,"
     "fold-concat,fold-update,eliminate-identity,fold-constants,fold-if,"
     "unroll-loop,merge-constants,cse,dce)",
     "what was sunk and merged leaves constants to compute and nodes that "
     "nobody uses, and equal ones; constants may decide what runs"},
    {0},
};

/* Not after lowering, which it would undo. */
static const glow_pipeline_entry recognize[] = {
    {"recognize-normalization,merge-normalization-scale",
     "exporters write layer normalization as arithmetic, its scale after it"},
    {"recognize-activation", "and Gelu, Swish and others"},
    {"recognize-piecewise", "Clip and LeakyRelu, which others are made of"},
    {"recognize-reduction,recognize-softmax",
     "exponentials and their sums, after the means of normalizations"},
    {"fold-repetition,recognize-attention,recognize-fullyconnected",
     "products of batches by one matrix; two with a softmax between them; a "
     "product and its bias"},
    {"recognize-lstm", "unrolled cells"},
    {"simplify-resize,simplify-pool",
     "what a resize or a pool comes to is often a composite operator"},
    {"fold-channel-shuffle", "reshapes and a transpose, as exporters write it"},
    {0},
};

/* At the end: other passes do not match fused operators. */
static const glow_pipeline_entry fuse[] = {
    {"fuse-attention", "heads are split and merged where they are read"},
    {"fuse-epilogue", "a pass over memory less for each addend or activation"},
    {0},
};

/* Passes that never trade memory for time. */
static const glow_pipeline_entry reduce[] = {
    {"dce,fixpoint(eliminate-identity,fold-constants,fold-reshape,"
     "fold-transpose,cse,dce)",
     "constants, and what importers leave between the parts of a formula"},
    {"recognize",
     "before scales are folded into weights and transposes move: formulas are "
     "easiest to know as they were written"},
    {"fixpoint(eliminate-identity,place-transpose,fold-transpose),"
     "fold-constants,fold-scale",
     "normalizations go into weights, before equal weights become one and "
     "what they make has two users"},
    {"fixpoint<max=8>(simplify,recognize)",
     "composite operators tell more than their parts, and are found once the "
     "rest is out of the way"},
    {"fixpoint<max=8>(fold-scale,fold-scale-forward,simplify,recognize)",
     "weights take the scales that no pattern is known to need; not after "
     "lowering, since a product that takes a bias is a composite operator"},
    {"flush-subnormals,dce",
     "weights are what they will be: some processors multiply the subnormal "
     "ones a hundred times slower"},
    {0},
};

static const glow_pipeline_entry optimize[] = {
    {"reduce", "fewer nodes and fewer bytes"},
    {"fixpoint<max=4>(combine-parallel,simplify)",
     "what shares an operand reads it once, where slices cost less"},
    {"nest-concat", "a part has one place: the beginning of the next Concat"},
    {"fixpoint<max=4>(fuse,simplify)",
     "several nodes in one, for backends that have it; shapes that stood "
     "between them move on"},
    {0},
};

static const glow_pipeline_entry optimize_program[] = {
    {"fixpoint(fold-view,propagate-copy,update-in-place,view-slice<early>,"
     "share-buffers<early>,join-parts,eliminate-dead-store,"
     "eliminate-dead-alloc)",
     "irgen gives every result a buffer of its own and every output a copy; "
     "parts of what lives anyway are read in place before others write there, "
     "and joined when it is known which buffers there are"},
    {"fixpoint(fold-view,propagate-copy,update-in-place,view-slice,"
     "share-buffers,join-parts,eliminate-dead-store,eliminate-dead-alloc)",
     "what is no part after all is worked on in place; now it is known what "
     "a longer life costs"},
    {"hoist-update",
     "in one loop with what wrote it, or while it is in a cache"},
    {"split-alloc,sink-alloc,hoist-dealloc",
     "short lives, so that alloc can use the same bytes again"},
    {0},
};

/* Each backend has its own: see entries_of in pipeline.c. */
static const glow_pipeline_entry of_backend[] = {{0}};

/* The common end of -O2, -O3 and -Os. */
static const glow_pipeline_entry arrange[] = {
    {"split-rows,rematerialize", "what a limit of memory (-limit) asks for, if "
                                 "the schedule cannot meet it"},
    {"fold-constants,dce", "of bands of channels, the parts of the weights"},
    {"schedule", "the order that needs little memory at once"},
    {"irgen", "instructions over buffers"},
    {"optimize-program", "buffers that need not be"},
    {"alloc", "a place for each buffer, in little memory"},
    {0},
};

/* The common end of -O2 and -O3. */
static const glow_pipeline_entry generate[] = {
    {"before-lower", "composite operators of the backend's own"},
    {"lower", "backends have the primitive operators"},
    {"strassen", "products of large matrices, if the backend has a cache"},
    {"fixpoint<max=4>(simplify)",
     "the parts of one operator meet those of the next"},
    {"after-lower", "kernels of the backend's own"},
    {"spread-splats", "a number that cse shares may be kept as a tensor from "
                      "one end of a network to the other"},
    {"tile-rows", "what leaves a cache and comes back, if the backend has one"},
    {"place-transpose", "bands of a transposed image are transposed each"},
    {"arrange", "an order, buffers, places"},
    {0},
};

static const glow_pipeline_entry O0[] = {
    {"before-lower", "composite operators of the backend's own"},
    {"lower", "backends have the primitive operators"},
    {"after-lower", "kernels of the backend's own"},
    {"schedule<strategy=given,sharing=views>", "the model's own order"},
    {"irgen", "instructions over buffers"},
    {"alloc<strategy=given>", "a place for each buffer"},
    {0},
};

static const glow_pipeline_entry O1[] = {
    {"dce,eliminate-identity,simplify-arithmetic,cse",
     "what costs least to find"},
    {"before-lower", "composite operators of the backend's own"},
    {"lower", "backends have the primitive operators"},
    {"fold-constants,cse,dce", "lowering leaves constants to compute"},
    {"after-lower", "kernels of the backend's own"},
    {"schedule<sharing=views>,irgen,alloc",
     "a place for each buffer, in little memory"},
    {0},
};

static const glow_pipeline_entry O2[] = {
    {"optimize", "composite operators tell more than what they become"},
    {"generate", "primitive operators, then instructions"},
    {0},
};

/* Without combine-parallel, so that results are not live at once. */
static const glow_pipeline_entry Os[] = {
    {"reduce", "without combine-parallel, which holds several results at once"},
    {"fuse", "sums that are activated in place"},
    {"before-lower", "composite operators of the backend's own"},
    {"lower", "backends have the primitive operators"},
    {"fixpoint<max=4>(simplify)",
     "the parts of one operator meet those of the next"},
    {"after-lower", "kernels of the backend's own"},
    {"spread-splats", "a number that cse shares may be kept as a tensor from "
                      "one end of a network to the other"},
    {"arrange", "an order, buffers, places; without strassen and tile-rows, "
                "which trade memory for time"},
    {0},
};

static const glow_pipeline_entry O3[] = {
    {"fixpoint<max=4>(optimize)", "once more while it helps"},
    {"generate", "primitive operators, then instructions"},
    {0},
};

static const glow_named_pipeline named[] = {
    {"O0", "to a placed program, with as little work as can be", O0, true},
    {"O1", "to a placed program, with what is quickly done", O1, true},
    {"O2", "to a placed program that runs fast in little memory", O2, true},
    {"O3", "as O2, as long as it helps", O3, true},
    {"Os", "to a placed program in the least memory, then fast", Os, true},
    {"default", "what a backend gets unless it is told otherwise",
     (const glow_pipeline_entry[]){{"O2", "worth its time"}, {0}}, true},
    {"after-lower", "graphs: what the backend wants when all is lowered",
     of_backend, false},
    {"algebra", "graphs: identities, from tables of rules", algebra, false},
    {"arrange", "lowered graphs: to a placed program, in little memory",
     arrange, true},
    {"before-lower", "graphs: what the backend wants before lowering",
     of_backend, false},
    {"fuse", "graphs: several nodes in one", fuse, false},
    {"generate", "graphs: lowered for speed, then arranged", generate, true},
    {"optimize", "graphs: fewer and cheaper nodes of the same meaning",
     optimize, false},
    {"optimize-program", "programs: fewer buffers and copies", optimize_program,
     false},
    {"recognize", "graphs: composite operators found in their parts", recognize,
     false},
    {"reduce", "graphs: fewer nodes and bytes, no memory traded for time",
     reduce, false},
    {"simplify", "graphs: what can go without making composite operators",
     simplify, false},
    {0},
};

const glow_named_pipeline *
glow_all_pipelines(void)
{
    return named;
}

const glow_named_pipeline *
glow_find_pipeline(const char *name)
{
    for (size_t i = 0; named[i].name; i++)
        if (strcmp(named[i].name, name) == 0)
            return &named[i];
    return NULL;
}
