/* binary32 within binary64, bit for bit. */

#ifndef GLOW_IR_BASE_FLOAT_H
#define GLOW_IR_BASE_FLOAT_H

/*
 * Casts that keep the bits of NaNs, signalling ones too; processors quiet
 * signalling NaNs when they convert.
 */
double glow_widen(float f);
float glow_narrow(double d);

#endif
