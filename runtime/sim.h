/* Planted faults and service times of a simulated device, which local.c runs. */

#ifndef RUNTIME_SIM_H
#define RUNTIME_SIM_H

#include "runtime/device.h"

typedef struct run_sim run_sim;

run_sim *glow_run_sim_new(run_base *b);
void glow_run_sim_free(run_sim *s); /* NULL is fine */
/*
 * Begins the next run: GLOW_RUN_DONE, or the fault that the options of the device plant in
 * it, with r->text.  A run that hangs returns after glow_run_sim_wake.
 */
glow_outcome glow_run_sim_begin(run_sim *s, glow_report_text *r);
/* Sleeps until a run that began at time `begin` has taken its time. */
void glow_run_sim_end(const run_sim *s, int64_t begin);
/* Sets the state of the device, and ends runs that hang. */
void glow_run_sim_wake(run_sim *s, glow_run_device_state state);

#endif
