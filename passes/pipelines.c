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
    {"simplify-arithmetic",
     "factors of 1 and double negations hide other patterns"},
    {"simplify-logic", "masks that are constant"},
    {"simplify-clamp", "nested bounds are intersected, redundant ones dropped"},
    {"reduce-strength", "quotients become products, which merge with others"},
    {"reassociate", "constants of one sum or product are merged"},
    {"fold-splat", "operations on splats are computed at compile time"},
    {"sink-unary,fold-convert", "conversions that become adjacent are merged"},
    {0},
};

/* Valid before and after lowering: no entry builds composite operators. */
static const glow_pipeline_entry simplify[] = {
    {"dce", "branches that only training uses need no analysis"},
    {"fixpoint(algebra,fold-constants,cse)",
     "identities give constants and equal nodes, and these more identities"},
    {"drop-unused-results", "positions of maxima without users"},
    {"fold-broadcast,hoist-unary",
     "before passes match repetition along an axis, or the operand of an "
     "activation"},
    {"fold-gather", "transposes sink below slices"},
    {"fixpoint(eliminate-identity,fold-transpose,cse,place-transpose)",
     "importers wrap convolution and pooling in transposes: placed where they "
     "move the fewest bytes, most of them cancel"},
    {"fold-pad,shrink-window",
     "windows have padding of their own, and some taps read only padding"},
    {"exchange-axes",
     "backends compute adjacent elements of the last spatial axis together"},
    {"fold-dilated-convolution,merge-group-convolution",
     "images split into phases, or channels into groups, and joined again"},
    {"fixpoint(sink-rescale,fold-rescale)",
     "a change of scale goes into the operators around it, past pools and "
     "layout operators"},
    {"fold-table", "activations whose operators are quantized one by one are "
                   "tables after lowering"},
    {"fixpoint(sink-moves,sink-reshape,absorb-reshape,absorb-shuffle,"
     "absorb-transpose,"
     "unwrap-transpose,fold-reshape,fold-transpose)",
     "sinking reshapes meet others, or operators that can absorb them"},
    {"fixpoint(fold-reshape,fold-empty,fold-gather,fold-insert,fold-slice,"
     "fold-concat,fold-update,eliminate-identity,fold-constants,fold-if,"
     "unroll-loop,merge-constants,cse,dce)",
     "what was sunk and merged leaves constants to compute and nodes that "
     "nobody uses, and equal ones; constants may decide what runs"},
    {0},
};

/* Not after lowering, which it would undo. */
static const glow_pipeline_entry recognize[] = {
    {"fold-quantization,recognize-quantized",
     "conversions of quantized elements, which moves and constants bring "
     "together"},
    {"recognize-normalization,merge-normalization-scale",
     "exporters write layer normalization as arithmetic, then its scale"},
    {"recognize-activation",
     "exporters write Gelu, Swish and others as arithmetic"},
    {"recognize-piecewise",
     "Clip and LeakyRelu, which are parts of other patterns"},
    {"recognize-reduction,recognize-softmax",
     "exponentials and their sums, after the means of normalizations"},
    {"fold-repetition,recognize-attention,recognize-fullyconnected",
     "batched products by one matrix; two products with a SoftMax in between; "
     "a product and its bias"},
    {"recognize-lstm", "cells of unrolled loops"},
    {"simplify-resize,simplify-pool",
     "resizing and pooling often reduce to composite operators"},
    {"fold-channel-shuffle", "exporters write it as reshapes and a transpose"},
    {0},
};

/* At the end: other passes do not match fused operators. */
static const glow_pipeline_entry fuse[] = {
    {"fuse-attention",
     "heads are read and written in place, without transposes"},
    {"fuse-epilogue",
     "one pass over memory less for each addend or activation"},
    {0},
};

/* Passes that never trade memory for time. */
static const glow_pipeline_entry reduce[] = {
    {"fixpoint<max=8>(fold-quantization,recognize-quantized)",
     "before constants that are quantized become floats"},
    {"dce,fixpoint(eliminate-identity,fold-constants,fold-reshape,"
     "fold-transpose,cse,dce)",
     "constants, and nodes that importers insert into formulas"},
    {"recognize",
     "before scales are folded into weights and transposes move: patterns "
     "match formulas as exporters write them"},
    {"fixpoint(eliminate-identity,place-transpose,fold-transpose),"
     "fold-constants,fold-scale",
     "normalizations are folded into weights, before equal convolutions are "
     "merged: a result with two users is not scaled"},
    {"fixpoint<max=8>(simplify,recognize)",
     "composite operators allow more rewrites than their parts, and match "
     "after other nodes are simplified"},
    {"sink-relu-grad", "masks of gradients as small as a pool's result"},
    {"merge-products", "gradients of weights that each step of a recurrent "
                       "network reads: one product over all steps"},
    {"fixpoint<max=8>(fold-scale,fold-scale-forward,simplify,recognize)",
     "weights absorb the scales that no pattern needs; not after lowering, "
     "since a product with a bias is a composite operator"},
    {"flush-subnormals,dce",
     "weights are final; some processors multiply subnormal numbers a hundred "
     "times slower"},
    {0},
};

static const glow_pipeline_entry optimize[] = {
    {"reduce", "fewer nodes and fewer bytes"},
    {"fixpoint<max=4>(combine-parallel,simplify)",
     "a shared operand is read once, if the slices cost less"},
    {"nest-concat",
     "an operand is computed in place in one Concat only, or in nested ones"},
    {"fixpoint<max=4>(fuse,simplify)",
     "fused operators, for backends that have them; reshapes between their "
     "parts then sink further"},
    {0},
};

/* Before a network is profiled: quantize converts what is left. */
static const glow_pipeline_entry prepare[] = {
    {"reduce", "batch normalization and constants are folded into weights; "
               "activations stay operators, whose ranges are known apart"},
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
    {"split-product",
     "a product whose rows are read one after the other need not "
     "wait whole"},
    {"recompute-activations", "what a step of training keeps for its gradient, "
                              "where it is quickly computed from the rest"},
    {"split-rows,rematerialize", "what a limit of memory (-limit) asks for, if "
                                 "the schedule cannot meet it"},
    {"fold-constants,dce", "of bands of channels, the parts of the weights"},
    {"schedule", "the order that needs little memory at once"},
    {"irgen", "instructions over buffers"},
    {"optimize-program", "buffers that need not be"},
    {"alloc", "a place for each buffer, in little memory"},
    {0},
};

/* Of a target with units and queues; nothing of it changes programs for others. */
static const glow_pipeline_entry engines[] = {
    {"propagate-copy",
     "results where they are saved, so that pieces are stored there"},
    {"tile-for-scratchpad", "pieces that fit"},
    {"insert-dma", "operands where units have them"},
    {"assign-memory", "nothing is loaded that is there"},
    {"double-buffer", "loads and stores beside work"},
    {"alloc", "what may be live at once is apart"},
    {"schedule-engines", "queues, and tokens where they touch the same bytes"},
    {"verify-engines", "a token too few would show in hardware alone"},
    {0},
};

/* The common end of -O2 and -O3. */
static const glow_pipeline_entry generate[] = {
    {"before-lower", "composite operators of the backend's own"},
    {"lower", "backends have the primitive operators"},
    {"flatten-convolution", "kernels of images serve volumes"},
    {"fixpoint<max=4>(simplify)",
     "the parts of one operator meet those of the next"},
    {"after-lower", "kernels of the backend's own"},
    {"pool-planes,fold-pad,dce",
     "pools that stay between transposes, whose windows "
     "have padding of their own"},
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
    {"flatten-convolution", "kernels of images serve volumes"},
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
    {"flatten-convolution", "kernels of images serve volumes"},
    {"fixpoint<max=4>(simplify)",
     "the parts of one operator meet those of the next"},
    {"after-lower", "kernels of the backend's own"},
    {"pool-planes,fold-pad,dce",
     "pools that stay between transposes, whose windows "
     "have padding of their own"},
    {"spread-splats", "a number that cse shares may be kept as a tensor from "
                      "one end of a network to the other"},
    {"arrange", "an order, buffers, places; without tile-rows, which trades "
                "memory for time"},
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
    {"engines", "programs: pieces for the units and queues of a target",
     engines, false},
    {"generate", "graphs: lowered for speed, then arranged", generate, true},
    {"optimize", "graphs: fewer and cheaper nodes of the same meaning",
     optimize, false},
    {"optimize-program", "programs: fewer buffers and copies", optimize_program,
     false},
    {"prepare", "graphs: folded for profiling and quantize", prepare, false},
    {"recognize", "graphs: recognize composite operators", recognize, false},
    {"reduce", "graphs: fewer nodes and bytes, no memory traded for time",
     reduce, false},
    {"simplify", "graphs: simplification without new composite operators",
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
