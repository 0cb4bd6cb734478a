/*
 * Weights in blocks of 16 results by 16 channels.
 *
 * Groups whose channels or results are no multiples of 16 are put together, as few as
 * needed, into groups that have them; weights between groups and of padding are 0.
 */

#include "pack.h"

static int64_t
round_up(int64_t n)
{
    return (n + VTA_LANES - 1) / VTA_LANES * VTA_LANES;
}

vta_packing
vta_packing_of(int64_t groups, int64_t channels, int64_t results)
{
    vta_packing p = {.together = 1};

    while (p.together < groups &&
           (groups % p.together || channels * p.together % VTA_LANES ||
            results * p.together % VTA_LANES))
        p.together++;
    p.groups = groups / p.together;
    p.channels = round_up(channels * p.together);
    p.results = round_up(results * p.together);
    p.group_channels = channels;
    p.group_results = results;
    return p;
}

int64_t
vta_packed_index(const vta_packing *p, int64_t taps, int64_t result,
                 int64_t tap, int64_t channel)
{
    int64_t group = result / p->group_results;
    int64_t c = group % p->together * p->group_channels + channel;

    return (((result / VTA_LANES * (p->channels / VTA_LANES) + c / VTA_LANES) *
                 taps +
             tap) *
                VTA_LANES +
            result % VTA_LANES) *
               VTA_LANES +
           c % VTA_LANES;
}
