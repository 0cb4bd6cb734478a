/* binary32 within binary64, bit for bit. */

#ifndef GLOW_IR_BASE_FLOAT_H
#define GLOW_IR_BASE_FLOAT_H

/*
 * As casts, but NaNs keep their bits, signalling ones too: processors quiet
 * these when they convert.
 */
double glow_widen(float f);
float glow_narrow(double d);

#endif
