/* What every unit test includes before anything else. */

#ifndef GLOW_TEST_UNIT_H
#define GLOW_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
