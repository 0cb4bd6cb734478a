/*
 * Estimate of the noise that 8 bits cause in a linear operator, from the observed
 * ranges of the channels that it reads.
 */

#ifndef PASSES_GRAPH_COMMON_CHANNEL_NOISE_H
#define PASSES_GRAPH_COMMON_CHANNEL_NOISE_H

#include "passes/graph/common/channel_classes.h"

/*
 * Noise over signal (of squares) of the results of the linear node `n`: Input is rounded
 * to 255 steps of the range of all its channels together, each row of weights to 127
 * steps of its largest weight.  `exponent` has those of the factors of the classes of
 * Input's channels, which divide the weights; NULL: no factors.
 *
 *     noise  = sum of w^2 s_x^2 / 12 + x^2 s_w^2 / 12,  signal = sum of w^2 x^2
 *
 * over all weights w, where x^2 of a channel is mean^2 + ((max - min) / 6)^2: the bounds
 * of a range are some three standard deviations away.  0 if Input has no ranges by
 * channel.
 */
double glow_channel_noise(channel_classes *c, const glow_node *n,
                          const int *exponent);

#endif
