/* All public headers, for users outside the tree. */

#ifndef GLOW_GLOW_H
#define GLOW_GLOW_H

#include "glow/backend.h"
#include "glow/cost.h"
#include "glow/cpu.h"
#include "glow/derivative.h"
#include "glow/devices.h"
#include "glow/engines.h"
#include "glow/family.h"
#include "glow/file.h"
#include "glow/heights.h"
#include "glow/layout.h"
#include "glow/match.h"
#include "glow/memory_map.h"
#include "glow/network.h"
#include "glow/number.h"
#include "glow/ops.h"
#include "glow/order.h"
#include "glow/partition.h"
#include "glow/pipeline.h"
#include "glow/place.h"
#include "glow/plugin.h"
#include "glow/profile.h"
#include "glow/quantize.h"
#include "glow/range.h"
#include "glow/reach.h"
#include "glow/rules.h"
#include "glow/schedule.h"
#include "glow/semantics.h"
#include "glow/simulate.h"
#include "glow/target.h"
#include "glow/state.h"
#include "glow/text.h"
#include "glow/tiling.h"

#endif
