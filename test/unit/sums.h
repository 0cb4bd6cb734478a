/* A network with state: sums of what came so far. */

#ifndef GLOW_TEST_SUMS_H
#define GLOW_TEST_SUMS_H

/* Sums up @x in @sum, and gives @y the row of the sums that @at names. */
static const char *const sums = "gir 1\n"
                                "placeholder @x : float<2>\n"
                                "placeholder @at : index64<1>\n"
                                "placeholder @y : float<1>\n"
                                "placeholder @sum : float<2> {State: true}\n"
                                "function @main {\n"
                                "  %a = Add(@sum, @x) : float<2>\n"
                                "  %k = Save(%a, @sum)\n"
                                "  %g = Gather(%a, @at) {Axis: 0} : float<1>\n"
                                "  %s = Save(%g, @y)\n"
                                "}\n";

/* The same in two parts on the devices `first` and `second`, the sums being that of the
   first. */
#define SUMS_IN_PARTS(first, second)                                           \
    "gir 1\n"                                                                  \
    "placeholder @x : float<2>\n"                                              \
    "placeholder @at : index64<1>\n"                                           \
    "placeholder @y : float<1>\n"                                              \
    "placeholder @sum : float<2> {State: true}\n"                              \
    "placeholder @i0 : float<2>\n"                                             \
    "placeholder @i1 : float<2>\n"                                             \
    "placeholder @o0 : float<2>\n"                                             \
    "placeholder @i2 : float<2>\n"                                             \
    "placeholder @i3 : index64<1>\n"                                           \
    "placeholder @o1 : float<1>\n"                                             \
    "function @add attributes {Inputs: [@i0, @i1], Outputs: [@o0]} {\n"        \
    "  %a = Add(@i0, @i1) : float<2>\n"                                        \
    "  %s = Save(%a, @o0)\n"                                                   \
    "}\n"                                                                      \
    "function @pick attributes {Inputs: [@i2, @i3], Outputs: [@o1]} {\n"       \
    "  %a = Gather(@i2, @i3) {Axis: 0} : float<1>\n"                           \
    "  %s = Save(%a, @o1)\n"                                                   \
    "}\n"                                                                      \
    "function @main {\n"                                                       \
    "  %a = Run([@sum, @x]) {Body: @add, Device: \"" first "\"} : float<2>\n"  \
    "  %b = Run([%a, @at]) {Body: @pick, Device: \"" second "\"} : float<1>\n" \
    "  %k = Save(%a, @sum)\n"                                                  \
    "  %s = Save(%b, @y)\n"                                                    \
    "}\n"

#endif
