/*
 * Classes of channels that can only be scaled together: union-find over the channels
 * of the results of a graph.
 *
 * The result of a linear operator with constant weights has channels of its own,
 * since a factor of each can be put into its weights and bias.  Rectifiers, pools and
 * layout operators pass channels on, Concat joins lists of them, Add and Max unite
 * those that meet.  A reader with constant weights absorbs the reciprocal factors.
 * All other readers fix the channels: class 0.
 */

#ifndef PASSES_GRAPH_COMMON_CHANNEL_CLASSES_H
#define PASSES_GRAPH_COMMON_CHANNEL_CLASSES_H

#include "passes/graph/common/linear.h"

/* The channels of a value along an axis; count 0: none are known. */
typedef struct channel_list {
    int axis;
    int64_t count;
    const int32_t *at; /* for glow_channel_class */
} channel_list;

typedef struct channel_classes {
    glow_arena *arena;
    glow_func *func;
    glow_node **order; /* of the nodes of the function */
    channel_list *of;  /* of the first result, by id of the node */
    int32_t *parent;   /* of the union-find; 0 is the fixed class */
    size_t count, cap;
} channel_classes;

channel_classes *glow_channel_classes_of(glow_arena *a, glow_func *f);

/* The class of a channel; 0: its scale cannot change. */
int32_t glow_channel_class(channel_classes *c, int32_t channel);

/* The channels of `v`. */
channel_list glow_channels_of(const channel_classes *c, const glow_value *v);

/*
 * The channels of the result and of Input of a linear node with constant weights, by
 * the layouts of glow_linear_of; false for other nodes.  `in` is empty if Input has
 * no channels.
 */
bool glow_channels_of_linear(const channel_classes *c, const glow_node *n,
                             channel_list *out, channel_list *in);

/* Fixes a channel, and so its class. */
void glow_channel_fix(channel_classes *c, int32_t channel);

#endif
