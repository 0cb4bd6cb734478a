/*
 * The table of diagnostic ids.
 *
 * The number of an id is never reused.  To take a new one, add an entry to the
 * block of its area, in order of the numbers, and a test whose text has the id
 * in brackets, as in
 *
 *     // expected-error@+1 [E0203] {{names axis 7}}
 *
 * (test/lit/ir/text/errors-tested.test fails without it).  One entry per block
 * of lines, so that two branches that both add one do not collide.
 *
 *     E01xx  the text form        E05xx  running
 *     E02xx  graphs               E06xx  files and weights
 *     E03xx  programs             E07xx  models (ONNX)
 *     E04xx  passes, pipelines    E08xx  plugins and backends
 *     E10xx  the runtime          E09xx  the command line
 *
 * An explanation says the cause, shows a small wrong input, indented by four,
 * and says how to correct it.  The summary is a line, lower case, no full stop.
 */

#include <string.h>

#include "glow/diag.h"

static const glow_diag_info table[] = {
    /* E01xx: the text form. */

    {"E0101", "a byte that begins no word of the language",
     "The text holds a character that means nothing where it stands.\n"
     "\n"
     "    %y = Relu(%x) ; float<4>\n"
     "\n"
     "Remove it, or put it in quotes if it belongs to a name: %\"a;b\".\n"},

    {"E0102", "a string is not closed or has an unknown escape",
     "Strings end on the line that they begin on, and know the escapes\n"
     "\\\" \\\\ \\n \\xHH.\n"
     "\n"
     "    placeholder @x : float<4> {Layout: \"NHWC}\n"
     "\n"
     "Close the string, or write the character as \\xHH.\n"},

    {"E0103", "a number is out of range or malformed",
     "Integers have 64 bits, sizes are not negative, and a number that is\n"
     "stored as another kind must fit it.\n"
     "\n"
     "    placeholder @x : float<99999999999999999999>\n"
     "\n"
     "Write a number within the range that the message names.\n"},

    {"E0104", "the words do not form a sentence of the language",
     "The parser met a word that cannot stand where it does.  It goes on with\n"
     "the next statement.\n"
     "\n"
     "    %y = Relu(%x : float<4>\n"
     "\n"
     "The message says what was found and what could have stood there.\n"},

    {"E0105", "brackets nest too deep",
     "Brackets may nest 256 deep.  No module needs more; a file that does is\n"
     "broken or hostile.\n"
     "\n"
     "    %y = Foo(%x) {A: [[[[[[ ... ]]]]]]} : float<4>\n"
     "\n"
     "Flatten the list.\n"},

    {"E0106", "the header names a version that this tool does not read",
     "The first line of a file is `gir 1`, then a namespace and a version for\n"
     "each plugin whose operators occur.\n"
     "\n"
     "    gir 2\n"
     "\n"
     "Read the file with a newer tool, or convert it with the one that wrote\n"
     "it.  For a namespace, load a plugin that is new enough.\n"},

    {"E0107", "a section is not closed",
     "A brace that opens a function, a program or one of their sections has\n"
     "no partner before the next item or the end of the file.\n"
     "\n"
     "    function @main {\n"
     "      %y = Relu(@x) : float<4>\n"
     "    function @other {\n"
     "\n"
     "Add the `}`.\n"},

    {"E0108", "the file needs a plugin that is not loaded",
     "The header names a namespace, or an operator's name has a prefix, that\n"
     "no loaded plugin owns.\n"
     "\n"
     "    gir 1 \"acme\" 3\n"
     "\n"
     "Load it with -plugin=NAME, or keep its operators as they are with\n"
     "-allow-unknown-ops.\n"},

    {"E0109", "a name is defined twice",
     "Names are unique: storage and functions in the module, nodes in their\n"
     "function, regions and sections in their program, attributes in their\n"
     "dictionary, aliases and blobs in the file.\n"
     "\n"
     "    %y = Relu(@x) : float<4>\n"
     "    %y = Tanh(@x) : float<4>\n"
     "\n"
     "Rename one of them.\n"},

    {"E0110", "a name is not defined",
     "A symbol, value, region, alias or blob is used that nothing defines.\n"
     "\n"
     "    %y = Relu(%conv1) : float<4>\n"
     "\n"
     "The message suggests a name that is near, if there is one.\n"},

    {"E0111", "a value is used before its definition",
     "In programs and in scheduled functions the order of the text is the\n"
     "order of execution, so a definition stands before its uses.\n"
     "\n"
     "    function @main scheduled {\n"
     "      %z = Tanh(%y) : float<4>\n"
     "      %y = Relu(@x) : float<4>\n"
     "    }\n"
     "\n"
     "Move the definition up, or drop `scheduled`.\n"},

    {"E0112", "no operator has this name",
     "Operators are spelled as `glow-opt -list-ops` shows them, instructions\n"
     "the same in lower case.\n"
     "\n"
     "    %y = Rellu(@x) : float<4>\n"
     "\n"
     "Correct the name, or load the plugin that has it.  With\n"
     "-allow-unknown-ops such nodes are kept as they are.\n"},

    {"E0113", "a node has no result of this name",
     "`%n#Name` selects a result of a node that has several, by its name or\n"
     "its number; `%n` alone is the result of a node that has one.\n"
     "\n"
     "    %t = TopK(@x) {K: 1} : (Values: float<1>, Indices: index64<1>)\n"
     "    %y = Relu(%t) : float<1>\n"
     "\n"
     "Write %t#Values.\n"},

    {"E0114", "the operands are not those of the operator",
     "Operands stand in the order of the operator's definition: `_` for one\n"
     "that is omitted, `[a, b]` for a group of any number.\n"
     "\n"
     "    %y = Concat(@a, @b) {Dim: 0} : float<8>\n"
     "\n"
     "Write Concat([@a, @b]).  `glow-opt -help=Concat` shows the operands.\n"},

    {"E0115", "the stated results are not those of the operator",
     "After the colon stands the type of the result; if there are several, a\n"
     "list of names and types; if there is none, nothing.\n"
     "\n"
     "    %y = Relu(@x)\n"
     "\n"
     "Write %y = Relu(@x) : float<4>.\n"},

    {"E0120", "no attribute has this name",
     "The operator, region or pass has no such attribute.\n"
     "\n"
     "    %y = SoftMax(@x) {Axes: 1} : float<1 x 4>\n"
     "\n"
     "The message suggests one that is near, if there is one.\n"},

    {"E0121", "an attribute is missing",
     "An attribute without a default must be given.\n"
     "\n"
     "    %y = Transpose(@x) : float<3 x 2>\n"
     "\n"
     "Write {Shuffle: [1, 0]}.\n"},

    {"E0122", "the value of an attribute has the wrong kind",
     "Each attribute holds one kind of value: an integer of some width, a\n"
     "float, a string, a word of a list, a list.\n"
     "\n"
     "    %y = SoftMax(@x) {Axis: \"one\"} : float<1 x 4>\n"
     "\n"
     "The message names the kind that is wanted.\n"},

    {"E0123", "the value of an attribute is out of range",
     "A number does not fit the attribute: it has fewer bits, or a list may\n"
     "hold fewer entries.\n"
     "\n"
     "    %y = SoftMax(@x) {Axis: 4294967296} : float<1 x 4>\n"
     "\n"
     "Give a value within the bounds that the message names.\n"},

    {"E0124", "an attribute has no such word",
     "Some attributes hold one word of a list.\n"
     "\n"
     "    %y = Pad(@x) {Mode: mirror, Pads: [1, 1]} : float<6>\n"
     "\n"
     "The message lists the words and suggests one that is near.\n"},

    {"E0125", "an attribute is given twice",
     "Each attribute of a node stands once.\n"
     "\n"
     "    %y = SoftMax(@x) {Axis: 1, Axis: 0} : float<1 x 4>\n"
     "\n"
     "Remove one of them.\n"},

    {"E0130", "no element kind has this name",
     "A type begins with the name of an element kind: float, float16, i8,\n"
     "index64, bool and so on (docs/gir.md lists them).\n"
     "\n"
     "    placeholder @x : float32<4>\n"
     "\n"
     "Write float<4>.\n"},

    {"E0131", "a type that cannot be",
     "At most 8 dimensions, none negative, 2^47 bytes in all; a scale and an\n"
     "offset for quantized kinds and for no others, of which the scale is a\n"
     "finite number above 0 and the offset an element of the kind; strides\n"
     "that do not let elements overlap.\n"
     "\n"
     "    placeholder @x : i8<4>\n"
     "\n"
     "Write i8[S:0.5 O:0]<4>.\n"},

    {"E0132", "the value of a constant does not fit its type",
     "A list has one number for each element, each in the range of the\n"
     "element kind; a splat has one number for all.\n"
     "\n"
     "    constant @c : float<3> = [1.0, 2.0]\n"
     "\n"
     "Give as many numbers as the type has elements.\n"},

    {"E0133", "a blob is not what its constant needs",
     "`blob(key)` takes its bytes from the entry of that key in the `data`\n"
     "section, which must hold valid base64 of just the type's size.\n"
     "\n"
     "    constant @c : float<2> = blob(c)\n"
     "    data {\n"
     "      c: base64<4> \"AAAAAA==\"\n"
     "    }\n"
     "\n"
     "Make the number in `<>`, the text and the type agree.\n"},

    {"E0134", "an elided constant has no value",
     "Dumps show a large constant by its hash alone: such text is for people\n"
     "to read.\n"
     "\n"
     "    constant @c : float<512 x 512> = elided(\"sha256:1b4f0e98\")\n"
     "\n"
     "Print the module without elision, or read the file with -allow-elided:\n"
     "the constant then can be neither folded nor run.\n"},

    {"E0135", "a location that cannot be",
     "Locations are file(\"f\", line, column), onnx(\"f\", \"node\"),\n"
     "caffe2(\"f\", \"node\"), name(\"text\"), fused(\"pass\", location, ...) "
     "and\n"
     "derived(\"pass\", location), each for a symbol or a node that exists.\n"
     "\n"
     "    locations {\n"
     "      @x: onnx(\"m.onnx\")\n"
     "    }\n"
     "\n"
     "Complete it, or remove the line.\n"},

    {"E0136", "an operand is marked as what it is not",
     "Instructions mark each operand: @in is read, @out is written, @inout is\n"
     "both.  First the results as @out, then the operands as @in; an operand\n"
     "that shares its buffer with a result is @inout, where the operator can\n"
     "work in place.\n"
     "\n"
     "    %relu = relu @in %a, @out %b\n"
     "\n"
     "Write %relu = relu @out %b, @in %a.\n"},

    {"E0138", "the text is too large",
     "Positions in a text have 31 bits, so a file holds less than 2 GiB.\n"
     "\n"
     "Keep large constants in a weights file: `external(...)` instead of\n"
     "`blob(...)`.\n"},

    {"E0139", "a weights declaration that cannot be",
     "`weights \"alias\" = FORMAT(\"path\")` with the format safetensors, npz "
     "or\n"
     "raw, and optionally sha256: \"hex digits\", all 64 or the first of "
     "them.\n"
     "\n"
     "    weights \"w\" = hdf5(\"w.h5\")\n"
     "\n"
     "Convert the file to one of the formats.\n"},

    {"E0140", "a region that cannot be",
     "A region has Space, Align (a power of two) and Size, and optionally\n"
     "Capacity, all in bytes.\n"
     "\n"
     "    $act = region {Space: \"sram\", Align: 3, Size: 64}\n"
     "\n"
     "Correct the attribute that the message names.\n"},

    {"E0141", "a range that cannot be",
     "The section `ranges` has the least and the greatest element of a value,\n"
     "and lists of both and of the mean element for each channel of an axis.\n"
     "All are finite, and no minimum is above its maximum.\n"
     "\n"
     "    ranges {\n"
     "      @x: [2.0, -2.0]\n"
     "      @main %y: [0.0, 1.0] per(1) {min: [0.0], max: [1.0], mean: [0.5]}\n"
     "    }\n"
     "\n"
     "Correct the numbers, or remove the line.\n"},

    /* E02xx: graphs. */

    {"E0201", "a node depends on its own result",
     "A graph must be acyclic: no node may be reached from its own results.\n"
     "\n"
     "    %a = Relu(%b) : float<4>\n"
     "    %b = Tanh(%a) : float<4>\n"
     "\n"
     "Break the cycle at the node that the message names.\n"},

    {"E0202", "a node has too few, too many or missing operands",
     "Found in a graph that was built by code: the number of operands and "
     "results\n"
     "is not that of the operator, or one is absent that is not optional.\n"
     "\n"
     "    glow_build(b, &glow_op_relu, NULL, NULL, 0, NULL);\n"
     "\n"
     "Give the operands in the order of the definition.  In text this is "
     "E0114.\n"},

    {"E0203", "an operator refuses its operands or attributes",
     "The operator's own rule does not hold: ranks, sizes, element kinds, or\n"
     "the range of an attribute.\n"
     "\n"
     "    %y = Transpose(@x) {Shuffle: [0, 7]} : float<2 x 3>\n"
     "\n"
     "The message names both numbers.  `glow-opt -help=Transpose` has the\n"
     "rule.\n"},

    {"E0205", "a scheduled function uses a value before its definition",
     "In a scheduled function the order of the nodes is the order of "
     "execution.\n"
     "\n"
     "    function @main scheduled {\n"
     "      %z = Tanh(%y) : float<4>\n"
     "      %y = Relu(@x) : float<4>\n"
     "    }\n"
     "\n"
     "Move the definition up, or drop `scheduled`.\n"},

    {"E0206", "a node writes what is no placeholder",
     "Save and its like write to a placeholder: constants and the results of\n"
     "nodes cannot be written.\n"
     "\n"
     "    constant @c : float<4> = splat(0.0)\n"
     "    %save = Save(%y, @c)\n"
     "\n"
     "Write to a placeholder of the same type.\n"},

    {"E0207", "an operator has no such form",
     "Some operators exist in graphs alone, some in programs alone.\n"
     "\n"
     "    function @main {\n"
     "      %a = Alloc() : float<4>\n"
     "    }\n"
     "\n"
     "`glow-opt -help=NAME` says where an operator may stand.\n"},

    {"E0208", "a predicate is not of kind bool",
     "A node with a predicate runs where the predicate is true.\n"
     "\n"
     "    placeholder @p : float<1>\n"
     "    %y = Relu(@x) pred(@p) : float<4>\n"
     "\n"
     "Compare first: CmpLT and its like give bool.\n"},

    {"E0214", "the stated type is not the one that the operator gives",
     "Each node states its result types, and the operator computes them from\n"
     "its operands.  Both must agree, scale and offset included.\n"
     "\n"
     "    placeholder @x : float<2 x 3>\n"
     "    %y = Transpose(@x) {Shuffle: [1, 0]} : float<2 x 3>\n"
     "\n"
     "Write the type that the message names, or correct the attributes that\n"
     "lead to it.\n"},

    {"E0215", "a body is not what its formals say",
     "A function that others call lists its formals in the attributes Inputs "
     "and\n"
     "Outputs: placeholders, none twice.  It reads and writes no others, and\n"
     "writes each of its Outputs once.\n"
     "\n"
     "    function @twice attributes {Inputs: [@x], Outputs: [@y]} {\n"
     "      %a = Add(@x, @k) : float<4>   // @k is none of the Inputs\n"
     "      %s = Save(%a, @y)\n"
     "    }\n"
     "\n"
     "Hand in what the body needs as one more of its Inputs.\n"},

    {"E0216", "calls do not end",
     "No function may call itself, be it through others, and calls are at "
     "most 64\n"
     "deep.\n"
     "\n"
     "    function @f attributes {Inputs: [@c, @x], Outputs: [@y]} {\n"
     "      %r = If(@c, [@c, @x]) {Then: @f, Else: @g} : float<4>\n"
     "      %s = Save(%r, @y)\n"
     "    }\n"
     "\n"
     "Say it with a Loop.\n"},

    {"E0217", "a placeholder cannot be state",
     "State and Trained are true or false.  State belongs to a caller, who\n"
     "keeps it from run to run: it is no formal of a body, and a run saves to\n"
     "it at most once.  Initial is a constant of its type, which it begins as.\n"
     "\n"
     "    placeholder @step : index64<> {State: 1}\n"
     "\n"
     "Write {State: true}.\n"},

    /* E03xx: programs. */

    {"E0301", "a node has no form in a program",
     "irgen gives every node an instruction.  This one changes a placeholder "
     "in a\n"
     "way of its own, or its operator exists in graphs alone.\n"
     "\n"
     "    %s = acme.Count(%x, @histogram)   // writes @histogram\n"
     "\n"
     "Lower it to operators that have instructions, or run the graph as it "
     "is.\n"},

    {"E0302", "an instruction uses a buffer that is defined further below",
     "The order of a program is the order of execution.\n"
     "\n"
     "    %r = relu @out %y, @in %a\n"
     "    %a = alloc float<4>\n"
     "\n"
     "Move the definition up.\n"},

    {"E0303", "a weight is declared among the code",
     "Weights come first: they are alive all the time.\n"
     "\n"
     "    glow_node_new(f, &glow_op_weight, ...);   // after an alloc\n"
     "\n"
     "Move it before the first other instruction.  In text, `declare` sees to "
     "it.\n"},

    {"E0304", "a placeholder or constant has two buffers",
     "Each symbol is declared at most once in a program, so that its bytes are "
     "in\n"
     "one place.\n"
     "\n"
     "    %x = weight float<4> @x mutable\n"
     "    %x2 = weight float<4> @x mutable\n"
     "\n"
     "Use the first for both.\n"},

    {"E0305", "a weight has another type than its symbol",
     "The buffer of a symbol has the symbol's own type.\n"
     "\n"
     "    placeholder @x : float<4>\n"
     "    %x = weight float<2 x 2> @x mutable\n"
     "\n"
     "State that type, and take a tensorview for another.\n"},

    {"E0306", "an instruction uses a symbol directly",
     "Instructions work on buffers: found in a program that was built by "
     "code.\n"
     "In text this is E0110.\n"
     "\n"
     "    relu @out %y, @in @x\n"
     "\n"
     "Declare a weight for the symbol.\n"},

    {"E0307", "an instruction writes to a constant",
     "The buffers of constants are read only; so are views of them.\n"
     "\n"
     "    %c = weight float<4> @c constant\n"
     "    %r = relu @out %c, @in %x\n"
     "\n"
     "Write to an alloc, or to the buffer of a placeholder.\n"},

    {"E0308", "an instruction reads bytes that nothing has written",
     "A buffer begins with bytes unset.  All that an instruction reads must "
     "have\n"
     "been written before it, if piece by piece.\n"
     "\n"
     "    %a = alloc float<4>\n"
     "    %r = relu @out %y, @in %a\n"
     "\n"
     "Write the buffer first.\n"},

    {"E0309", "a buffer is used after its dealloc",
     "After `dealloc` the bytes may belong to another buffer.\n"
     "\n"
     "    %a.free = dealloc @out %a\n"
     "    %r = relu @out %y, @in %a\n"
     "\n"
     "Move the dealloc behind the last use.\n"},

    {"E0310", "an alloc is never freed",
     "Each alloc has one dealloc, so that lifetimes are plain to see.\n"
     "\n"
     "    %a = alloc float<4>   // and no dealloc of %a\n"
     "\n"
     "Add `dealloc @out %a` behind the last use.\n"},

    {"E0311", "what is freed is no alloc",
     "Weights live as long as the program, and views as long as their base.\n"
     "\n"
     "    %x = weight float<4> @x mutable\n"
     "    %x.free = dealloc @out %x\n"
     "\n"
     "Free the alloc, or nothing.\n"},

    {"E0313", "an instruction writes over what it reads",
     "A result may share bytes with an operand only if the operator declares "
     "that\n"
     "it works in place there, and if both are the same buffer, or views of "
     "it\n"
     "that differ in the scale and offset of their elements alone.\n"
     "\n"
     "    %m = matmul @out %a, @in %a, @in %b\n"
     "\n"
     "Let it write another buffer.\n"},

    {"E0314", "two results share bytes",
     "Each result of an instruction has bytes of its own.\n"
     "\n"
     "    %t = topk @out %a, @out %a, @in %x {K: 1}\n"
     "\n"
     "Give each a buffer.\n"},

    {"E0315", "scratch is not an instruction's own",
     "The scratch of an instruction is an alloc that no operand,\n"
     "result or predicate of it has a byte of: the kernel writes there at any\n"
     "moment.  What stands there afterwards is not known, so that reading it\n"
     "is E0308.\n"
     "\n"
     "    %top = topk @out %v, @out %i, @in %x {K: 3} scratch(%x)\n"
     "\n"
     "Give it an alloc of its own, freed right behind the instruction.\n"},

    {"E0320", "a program is placed in part",
     "With a `memory` section every alloc and weight has a place in one of "
     "its\n"
     "regions; without, none has.\n"
     "\n"
     "    memory {\n"
     "      $act = region {Space: \"sram\", Align: 64, Size: 64}\n"
     "    }\n"
     "    code {\n"
     "      %a = alloc float<4>\n"
     "    }\n"
     "\n"
     "Add ` at $act + 0`, or run -alloc, which places all.\n"},

    {"E0321", "a place is not aligned",
     "The offset of a buffer is a multiple of its region's alignment, which is "
     "a\n"
     "power of two.\n"
     "\n"
     "    $act = region {Space: \"sram\", Align: 64, Size: 128}\n"
     "    %a = alloc float<4> at $act + 8\n"
     "\n"
     "Move the buffer to the next multiple.\n"},

    {"E0322", "a buffer ends past its region",
     "Offset and size of a buffer are within its region's Size.\n"
     "\n"
     "    $act = region {Space: \"sram\", Align: 64, Size: 64}\n"
     "    %a = alloc float<32> at $act + 0\n"
     "\n"
     "Make the region larger, or the buffer's offset smaller.\n"},

    {"E0323", "a region is larger than its capacity",
     "Capacity is what the target has.\n"
     "\n"
     "    $act = region {Space: \"sram\", Align: 64, Size: 128, Capacity: 64}\n"
     "\n"
     "Place the buffers closer, or spread them over several regions.\n"},

    {"E0324", "two buffers that are alive share bytes",
     "Buffers may have the same bytes only if their lives do not overlap.\n"
     "\n"
     "    %a = alloc float<4> at $act + 0\n"
     "    %b = alloc float<4> at $act + 0\n"
     "\n"
     "Move one of them, or free the first before the second begins.\n"},

    {"E0325", "a place is smaller than its buffer",
     "` size N` may be larger than the type takes, for padding, but not "
     "smaller.\n"
     "\n"
     "    %a = alloc float<4> at $act + 0 size 8\n"
     "\n"
     "State at least the bytes of the type, or leave `size` out.\n"},

    {"E0326", "there is no memory map to show",
     "Only a placed program has one: found where code asks for it.\n"
     "\n"
     "    glow_memory_map(&b, f, GLOW_MAP_TEXT);   // f was not placed\n"
     "\n"
     "Run alloc first, as glow-opt -memory-map and -why-peak do by "
     "themselves.\n"},

    {"E0327", "a buffer lies where its region has no room for it",
     "A region may have banks, of which a buffer that fits one never lies in\n"
     "two, and ranges in which nothing lies.  They come from the target file.\n"
     "\n"
     "    $act = region {Space: \"tcm\", Align: 8, Size: 64, Bank: 32,\n"
     "                   Forbidden: [0, 8]}\n"
     "    %a = alloc float<4> at $act + 24\n"
     "\n"
     "Have alloc find the place, or fix another.\n"},

    {"E0328", "constants of two programs share bytes",
     "Regions of one name are one memory for all programs of a module.  What\n"
     "one keeps there for ever, no other may put something else on.\n"
     "\n"
     "Have alloc place both.\n"},

    {"E0330", "the buffers of a region take more bytes than can be counted",
     "The sizes of all buffers of a region must add up to less than 2^63 "
     "bytes.\n"
     "\n"
     "    placeholder @x : float<35184372088832>   // and 65,535 others like "
     "it\n"
     "\n"
     "Split the network, or correct the shapes.\n"},

    {"E0331", "an instruction works in more bytes than memory can have",
     "The kernel that the backend has for it asks for scratch in proportion\n"
     "to its operands, and a buffer has at most 2^47 bytes.\n"
     "\n"
     "    %u = unique ... of 2^44 slices\n"
     "\n"
     "Take the operand apart.\n"},

    {"E0332", "an option of alloc is out of range",
     "Alignments are powers of two up to 2^30, and a capacity is not "
     "negative.\n"
     "\n"
     "    glow-opt -alloc='align=48' net.gir\n"
     "\n"
     "Give a number in the range that the message names.\n"},

    {"E0333", "a schedule takes more memory than its limit",
     "The order of the nodes with the lowest peak that was found needs more\n"
     "bytes than -limit, or the option of schedule, allows.  The notes list "
     "what\n"
     "is alive while the node at the peak runs, the largest first.\n"
     "\n"
     "    glow-opt -lower -schedule='limit=512KiB' net.gir\n"
     "\n"
     "Let split-rows and rematerialize change the nodes before schedule, give\n"
     "schedule a larger budget if the bound is below the limit, or allow "
     "more.\n"},

    {"E0334", "a buffer is not, or cannot be, in the space that it names",
     "An alloc or weight may name the memory space that it is to be placed "
     "in;\n"
     "alloc does it where the backend needs operands in one.  The spaces are\n"
     "those of the target and of the regions of the program.  Buffers of "
     "bodies\n"
     "are scratch of their caller, and name none.\n"
     "\n"
     "    %a = alloc float<4> {Space: \"tcm\"} at $dram + 0\n"
     "\n"
     "Name a space that there is, or add it to the target.\n"},

    {"E0335", "a token is used as something else, or signalled twice",
     "A token is an alloc of the kind `token`, an event of a program with "
     "queues:\n"
     "one signal writes it, and waits read it.  Nothing else may use it, and a\n"
     "second signal of it would mean nothing, because it is set already.\n"
     "\n"
     "    %t = alloc token<>\n"
     "    %a = signal @out %t queue(\"load\")\n"
     "    %b = signal @out %t queue(\"load\")\n"
     "\n"
     "Give each signal a token of its own.\n"},

    {"E0336", "no piece of an instruction fits a scratchpad",
     "tile-for-scratchpad does an instruction of a unit in pieces.  Even the\n"
     "smallest, of one tile of the unit, takes more than a space of the target "
     "has.\n"
     "\n"
     "    \"units\": [{\"op\": \"MatMul\", \"tile\": [1, 64, 64],\n"
     "               \"operands\": {\"LHS\": \"in\"}, ...}]\n"
     "\n"
     "Let the operator's tiling cut more axes, or leave the node to another\n"
     "backend.\n"},

    {"E0337", "a queue cannot wait for another",
     "schedule-engines found an instruction that needs what one of another queue\n"
     "does, but `tokens` of the target lead neither from that queue to this one\n"
     "nor over a third.\n"
     "\n"
     "    \"tokens\": [[\"load\", \"mac\"]]   // and a load that overwrites\n"
     "\n"
     "Add the pair to the target; without `tokens` any queue may wait for any.\n"},

    {"E0338", "an instruction does not wait for one of another queue",
     "Two instructions of different queues touch the same bytes, one of them\n"
     "writes there, and no token makes the second wait until the first is done.\n"
     "\n"
     "    %l = copy @out %a, @in %x queue(\"load\")\n"
     "    %m = relu @out %y, @in %a queue(\"mac\")\n"
     "\n"
     "Signal a token behind the first and wait for it before the second, or let\n"
     "schedule-engines do it.\n"},

    {"E0339", "tokens do not balance",
     "Hardware counts tokens from one queue to another: each has one signal and\n"
     "one wait, and those between two queues are waited for in the order in which\n"
     "they are signalled.\n"
     "\n"
     "    %s = signal @out %t queue(\"load\")   // and no wait for %t\n"
     "\n"
     "Remove the signal, or add the wait.\n"},

    {"E0340", "the target does not do an instruction as the program says",
     "Its queue is none of the target, or not that of its link or unit; an operand\n"
     "of a unit is in another space than the unit has it in; or a queue waits for\n"
     "one that `tokens` do not lead from.\n"
     "\n"
     "    %m = relu @out %y, @in %a queue(\"lod\")\n"
     "\n"
     "Run schedule-engines with the same -target-file.\n"},

    /* E04xx: passes and pipelines. */

    {"E0401", "a rewrite gives a value of another type",
     "A pass tried to replace a value by one of another type, which users of\n"
     "the value do not expect.  This is a mistake in the pass, not in the\n"
     "input.\n"
     "\n"
     "    return GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = wrong);\n"
     "\n"
     "In the pass, convert the new value back, or return NULL.  To go on\n"
     "without the pass: -disable-pass=NAME.\n"},

    {"E0402", "the text of a pipeline is not well formed",
     "A pipeline is a list of passes and named pipelines, apart by commas,\n"
     "with options in <>, fixpoint(...) around what is to be repeated, and\n"
     "@name(...) around what is for one function alone.\n"
     "\n"
     "    glow-opt -passes='fixpoint<max=8>(cse,dce'\n"
     "\n"
     "The caret shows where the message's words are missing.\n"},

    {"E0403", "no pass or pipeline has this name",
     "Names in a pipeline are those that `glow-opt -list-passes` shows, the\n"
     "passes of plugins among them.\n"
     "\n"
     "    glow-opt -passes=dec\n"
     "\n"
     "Correct the name, or load the plugin that has it.\n"},

    {"E0404", "no option has this name",
     "The pass has options, but not this one, or none at all.\n"
     "\n"
     "    glow-opt -passes='fixpoint<most=3>(cse)'\n"
     "\n"
     "`glow-opt -help=PASS` shows the options of a pass.\n"},

    {"E0405", "a pipeline cannot be typed",
     "A pass takes graphs, scheduled graphs, programs or placed programs, and\n"
     "may leave another of these.  What is missing before a pass is added\n"
     "where there is one way to do so, but nothing leads from programs back "
     "to\n"
     "graphs, and a fixpoint must leave what it found.\n"
     "\n"
     "    glow-opt -passes=irgen,dce\n"
     "\n"
     "Put the passes in the order graph, schedule, irgen, alloc.\n"},

    {"E0406", "a pipeline names a function that does not exist",
     "@name(...) restricts passes to one function of the module.\n"
     "\n"
     "    glow-opt -passes='@mian(dce)'\n"
     "\n"
     "Correct the name.\n"},

    {"E0407", "a pass does not do what it declares",
     "The pass failed without a report, removed the function that it ran on,\n"
     "or left another level than the one that it says it makes.  This is a\n"
     "mistake in the pass, not in the input.\n"
     "\n"
     "    const glow_pass p = {.makes = GLOW_PROGRAM, .run = does_nothing};\n"
     "\n"
     "Mend the pass, or leave it out: -disable-pass=NAME.\n"},

    {"E0408", "a pass left something that breaks the rules of the IR",
     "Each function that a pass has changed is verified; the errors before\n"
     "this one say what is wrong.  A pass that changes a function and returns\n"
     "GLOW_UNCHANGED is found by a digest of the function before and after; "
     "in\n"
     "one of more than 10,000 nodes, at the end of the pipeline.  This is a\n"
     "mistake in the pass, not in the input.\n"
     "\n"
     "    n->out[0]->type = wrong;\n"
     "\n"
     "-print-before=NAME shows what the pass got, -rewrite-limit=NAME:N finds\n"
     "the rewrite at fault.\n"},

    {"E0409", "a pass does not come to rest",
     "A rewrite is offered its own results again until nothing changes.  This\n"
     "one went on for far longer than the function is large.  This is a\n"
     "mistake in the pass, not in the input.\n"
     "\n"
     "    return GLOW_BUILD_PLAIN(b, relu, GLOW_IN(n->in[0]));\n"
     "\n"
     "Return NULL where there is nothing to gain.\n"},

    {"E0410", "a table of rules is not well formed",
     "A pass states identities as text.  One of them is not a term, names an\n"
     "operator that there is not, or has a right side that is not smaller.\n"
     "\n"
     "    {\"(Relu x)\", \"(Max x 0)\"}\n"
     "\n"
     "glow/rules.h says what a rule may be.\n"},

    {"E0411", "a pass changes what a function computes",
     "-verify-semantics ran the function before and after the pass, and a\n"
     "result differs by more than the pass declares (see `preserves` in its\n"
     "definition: glow-opt -help=PASS).\n"
     "\n"
     "    glow-opt -fold-transpose -verify-semantics in.gir\n"
     "\n"
     "The pass is wrong, or promises too much.  To go on without it:\n"
     "-disable-pass=PASS; to find the rewrite: -rewrite-limit=PASS:N.\n"},

    {"E0412", "a function does not run any more after a pass",
     "-verify-semantics could run the function before the pass, and not after\n"
     "it: the message says what the interpreter met.\n"
     "\n"
     "The pass is wrong: it made an index leave its range, or a buffer be "
     "read\n"
     "that nothing wrote.\n"},

    {"E0413", "-verify-semantics could not run a function",
     "The function refuses every set of inputs, so that nothing was compared.\n"
     "\n"
     "    %g = Gather(@x, @i) {Axis: 0} : float<8 x 8>\n"
     "\n"
     "Give constants where values decide whether the function can be run, or\n"
     "verify the pipeline without -verify-semantics.\n"},

    {"E0414", "a pass changes what a function writes",
     "After the pass the function is gone, does not write a placeholder that "
     "it\n"
     "wrote before, or writes another type to it.\n"
     "\n"
     "A pass that is meant to do so declares GLOW_CHANGES, with a reason.\n"},

    {"E0415", "what a pass left does not survive its text form",
     "-verify-roundtrip-each prints the module, reads it back and prints it\n"
     "again.  Both texts must be equal.  This is a mistake in the pass, which\n"
     "built what the text cannot say, or in printer and parser.\n"
     "\n"
     "    glow-opt -schedule -verify-roundtrip-each net.gir\n"
     "\n"
     "-print-after=NAME shows the text.\n"},

    {"E0416", "the same input gave two outputs",
     "-verify-determinism does everything a second time, elsewhere in memory,\n"
     "and compares the bytes.  A pass that goes by addresses, or by anything\n"
     "else that changes from run to run, is at fault.\n"
     "\n"
     "    glow-opt -cse -verify-determinism net.gir\n"
     "\n"
     "Leave passes out until the outputs agree: -disable-pass=NAME.\n"},

    {"E0417", "a target file cannot be used",
     "-target-file names an object in JSON with what passes that decide by\n"
     "cost may know of the machine.  All of its members are optional.\n"
     "\n"
     "    {\"name\": \"npu\", \"flops_per_second\": 2e12,\n"
     "     \"bytes_per_second\": 8e9, \"seconds_per_node\": 1e-6,\n"
     "     \"spaces\": [{\"name\": \"tcm\", \"size\": 65536, \"align\": 8,\n"
     "                 \"bank\": 16384, \"forbidden\": [[0, 512]]},\n"
     "                {\"name\": \"dram\"}],\n"
     "     \"constants\": [\"dram\"], \"placeholders\": [\"dram\"],\n"
     "     \"activations\": [\"tcm\", \"dram\"]}\n"
     "\n"
     "`spaces` are the memories, in which alloc places buffers: each class of\n"
     "buffers in those that are listed for it, the best first; `scratch`, "
     "what\n"
     "kernels work in, as activations.  Without `size` a space has no end; no\n"
     "buffer that fits a bank lies in two; nothing lies in a forbidden range.\n"
     "\n"
     "An accelerator has `queues`, which run instructions beside one another;\n"
     "`links`, by which a queue copies from one space to another; `tokens`, by\n"
     "which a queue waits for another; and `units`, which do the work of an\n"
     "operator:\n"
     "\n"
     "    {\"clock_hz\": 1e8,\n"
     "     \"spaces\": [{\"name\": \"dram\", \"host\": true},\n"
     "                {\"name\": \"in\", \"size\": 32768, \"element\": 16}],\n"
     "     \"queues\": [{\"name\": \"load\", \"depth\": 512}, {\"name\": \"mac\"}],\n"
     "     \"links\": [{\"queue\": \"load\", \"from\": \"dram\", \"to\": \"in\",\n"
     "                \"bytes_per_cycle\": 8, \"setup\": 100, \"dims\": 2,\n"
     "                \"pad\": true, \"outstanding\": 4}],\n"
     "     \"tokens\": [[\"load\", \"mac\"], [\"mac\", \"load\"]],\n"
     "     \"units\": [{\"queue\": \"mac\", \"op\": \"MatMul\", \"per_cycle\": 256,\n"
     "                \"operands\": {\"LHS\": \"in\"}, \"tile\": [1, 16, 16]}]}\n"
     "\n"
     "The report stands at the member that is wrong.  `glow-opt -v` prints the\n"
     "target as it was understood.\n"},

    {"E0418", "a backend does not take all nodes after lowering",
     "After lower each node must be one that the backend takes.  The notes\n"
     "list all others of a function, with the reason that the backend gives: "
     "no\n"
     "rule lowers them.  Each function has an error of its own.\n"
     "\n"
     "    glow-opt -lower -backend=cpu net.gir   // with acme.Gather\n"
     "\n"
     "Load the plugin that lowers the operator, or write a rule for it.\n"
     "-lower=partial leaves such nodes as they are.\n"},

    {"E0419", "-exact does not take a pass",
     "-exact leaves out every pass that rounds differently.  This one was "
     "named\n"
     "by itself, and keeps results only up to roundings, as its page says.\n"
     "\n"
     "    glow-opt -exact -strassen\n"
     "\n"
     "Leave out one of the two.  The pipelines -O0 to -O3 and -Os leave such\n"
     "passes out by themselves; tables of rules keep their exact rules, and\n"
     "lowering stays.\n"},

    {"E0420", "an option of a pass cannot have this value",
     "The number is out of range, or there is nothing that it could change.\n"
     "\n"
     "    glow-opt -insert-profile=bins=1 net.gir\n"
     "\n"
     "Give a value in the range that the message names.\n"},

    {"E0430", "a schema does not go with an element kind",
     "Symmetric schemas have the offset 0, at which elements of ui8 are not\n"
     "negative.\n"
     "\n"
     "    glow-opt -quantize='schema=symmetric precision=uint8'\n"
     "\n"
     "Take int8, or the asymmetric schema.\n"},

    {"E0431", "`keep` of quantize names nothing",
     "The option lists nodes and operators that stay in float, and this name\n"
     "is neither in the function.\n"
     "\n"
     "    glow-opt -quantize='keep=%conv7' net.gir   // there are six\n"
     "\n"
     "Nodes are written %conv1, operators SoftMax.\n"},

    {"E0432", "quantize finds no range",
     "Scale and offset of a value come from its range: the least and the\n"
     "greatest element that it had when the network ran.  They stand in the\n"
     "section `ranges` of the text, and none is there.\n"
     "\n"
     "    glow-opt -quantize net.gir\n"
     "\n"
     "Run the network on typical inputs and load the profile:\n"
     "\n"
     "    glow-run net.gir -input x=x.npy -dump-profile=net.prof\n"
     "    glow-opt -load-profile=net.prof -quantize net.gir\n"},

    {"E0433", "an operator stays in float",
     "With `assert`, quantize fails where an operator of floats is left.  Its\n"
     "values have no range, `keep` names it, or the operator or the backend\n"
     "does not take quantized elements; -remarks=- says which.\n"
     "\n"
     "    glow-opt -quantize=assert net.gir\n"
     "\n"
     "Leave out `assert` to compute it in float.\n"},

    {"E0434", "quantize-weights has blocks of no such size",
     "`block` is how many weights share a scale.  Two weights of 4 bits make "
     "a\n"
     "byte, and a block has whole bytes.\n"
     "\n"
     "    glow-opt -quantize-weights='bits=4 block=33' net.gir   // 32\n"
     "\n"
     "With `block=0` all weights of a result share one.\n"},

    {"E0435", "a quantized network is too far from float",
     "-least-sqnr puts nodes back into float, the worst first, until the\n"
     "outputs have so much signal over noise, and even with a single one\n"
     "quantized they do not.\n"
     "\n"
     "    glow-run net.gir -load-profile=net.prof -quantize -least-sqnr=90\n"
     "\n"
     "Calibrate in another way, equalize before profiling, take\n"
     "precision=int16, or ask for less.\n"},

    {"E0440", "differentiate does not know the loss",
     "The loss is a placeholder of one float that the function saves to.\n"
     "Where there are several, the option names it.  In forward mode it may\n"
     "be any tensor of floats.\n"
     "\n"
     "    glow-opt -differentiate net.gir   // saves @loss and @accuracy\n"
     "\n"
     "-differentiate='loss=loss' is what is meant.\n"},

    {"E0441", "differentiate does not know what to differentiate by",
     "Gradients are by placeholders of floats that the function reads: those\n"
     "that `of` lists, by name or pattern, or those with the attribute\n"
     "Trained.\n"
     "\n"
     "    placeholder @w : float<4 x 3> {Trained: true}\n"
     "\n"
     "Write the attribute, or -differentiate='of=w'.\n"},

    {"E0442", "an operator has no gradient",
     "A placeholder reaches the loss through this node, and neither its\n"
     "operator nor what it is lowered to has a rule.\n"
     "\n"
     "    %n = NonZero(@w) : index64<1 x 4>, index64   // then used as floats\n"
     "\n"
     "Leave the placeholder out of `of`, or give the operator a derivative\n"
     "(glow/derivative.h).  Each such node has an error of its own.\n"},

    {"E0443", "a gradient is wrong",
     "verify-gradients runs the function in float64 and compares the gradient\n"
     "along random directions with differences of the loss, a tangent with\n"
     "differences along its direction, and the two with each other.\n"
     "\n"
     "    glow-opt -differentiate -verify-gradients net.gir\n"
     "\n"
     "The rule of an operator between the placeholder and the loss is wrong,\n"
     "or a pass in between changed what is computed.\n"},

    {"E0444", "gradients could not be verified",
     "The function refuses all inputs that verify-gradients draws, its loss\n"
     "was no number for any of them, or there is no placeholder with\n"
     "GradientOf and Loss, or with TangentOf.\n"
     "\n"
     "    placeholder @grad.w : float<4> {GradientOf: \"w\", Loss: \"loss\"}\n"
     "\n"
     "differentiate makes such placeholders.\n"},

    {"E0445", "a weight cannot be updated",
     "update-weights saves to the placeholder that GradientOf names, of the\n"
     "type of the gradient, once.\n"
     "\n"
     "    %s = Save(%y, @w)   // and @grad.w is saved too\n"
     "\n"
     "Save what the function computed to another placeholder.\n"},

    {"E0446", "a loss cannot be appended",
     "append-loss takes the value that the function saves to `of`, and for\n"
     "cross-entropy its classes are along axis 1 or the last axis.\n"
     "\n"
     "    glow-opt -append-loss net.gir   // saves @probability and @features\n"
     "\n"
     "-append-loss='of=probability' is what is meant.\n"},

    {"E0470", "a devices file cannot be used",
     "The pass partition and the backend parts read the devices from an object "
     "in\n"
     "JSON.  Their order is that of preference.\n"
     "\n"
     "    {\"devices\": [\n"
     "      {\"name\": \"npu\", \"backend\": \"npu.core\", \"memory\": "
     "\"4MiB\",\n"
     "       \"target\": \"npu.json\", \"profile\": \"npu-times.json\",\n"
     "       \"bytes_per_second\": 1e9, \"seconds_per_transfer\": 1e-5},\n"
     "      {\"name\": \"host\", \"backend\": \"cpu\"}]}\n"
     "\n"
     "`name` and `backend` are needed.  `target` is a target file (E0417),\n"
     "`profile` the output of glow-run -profile -json; both are found from "
     "the\n"
     "folder of the devices file.  docs/partition.md has the rest.\n"},

    {"E0471", "no device takes a node",
     "The backends of all devices refuse the node, as it is and lowered.  The\n"
     "message has the reason of the first.\n"
     "\n"
     "    glow-opt -partition='devices=npu.json fallback=false' net.gir\n"
     "\n"
     "Add a device that takes it; without `fallback` the first device has to "
     "take\n"
     "all nodes.\n"},

    {"E0472", "a partition cannot keep the limits",
     "The message has the bytes of the constants and the memory of each "
     "device.\n"
     "A part needs its constants, its inputs and outputs, and the peak of "
     "other\n"
     "values at once.\n"
     "\n"
     "    glow-opt -partition='devices=small.json max_parts=1' net.gir\n"
     "\n"
     "Allow more parts, add a device without `memory`, or split nodes\n"
     "(-split-nodes).\n"},

    {"E0473", "a pin of partition is wrong",
     "A pin is the name of a node or of an operator, and that of a device of "
     "the\n"
     "devices file, whose backend takes the node.\n"
     "\n"
     "    glow-opt -partition='devices=d.json "
     "pins=\"%conv1@npu,SoftMax@host\"'\n"
     "\n"
     "-explain-support tells which nodes a backend takes.\n"},

    {"W0401", "a fixpoint has not settled",
     "The passes of fixpoint(...) still changed something when the number of\n"
     "rounds was used up: `max`, or 16.  The message names those that did.\n"
     "\n"
     "    glow-opt -passes='fixpoint<max=2>(sink-transpose,fold-transpose)'\n"
     "\n"
     "Raise max.  If that does not help, two of the passes undo each other.\n"},

    {"W0411", "-verify-semantics leaves out a set of inputs",
     "The function refuses inputs of this kind, mostly because integers that "
     "it\n"
     "takes as indices are out of range.  It was compared on the other "
     "sets.\n"},

    /* E05xx: running. */

    {"W0430", "values have no range, and stay in float",
     "quantize converts operators whose float operands and results all have\n"
     "ranges.  These values have none: they were not profiled, or a pass that\n"
     "ran since then made them.\n"
     "\n"
     "    glow-opt -load-profile=net.prof -O1 -quantize net.gir\n"
     "\n"
     "Profile the very text that is quantized: run other passes before.\n"},

    {"W0440", "the loss does not depend on a placeholder",
     "A gradient was asked for, and is 0: no path of floats with a gradient\n"
     "leads from the placeholder to the loss.\n"
     "\n"
     "    %i = ArgMax(@w) {Axis: 0, KeepDims: false} : index64\n"
     "\n"
     "Look for comparisons and indices on the way.\n"},

    {"E0487", "training and inference cannot be split",
     "split-inference copies the function that saves gradients, without its loss:\n"
     "one function, behind differentiate, and two names that no other function has.\n"
     "\n"
     "    glow-opt -split-inference -differentiate net.gir\n"
     "\n"
     "-differentiate comes first.\n"},

    {"E0501", "bytes are read that were never written",
     "An instruction reads a buffer, or a part of one, that no instruction\n"
     "before it has written.\n"
     "\n"
     "    %a = alloc float<4>\n"
     "    %r = relu @out %y, @in %a\n"
     "\n"
     "Write the buffer first: splat, copy, or the instruction that should\n"
     "have produced it.\n"},

    {"E0502", "a placeholder has no tensor, or one of another type",
     "Running a function needs a tensor for each placeholder that it reads or\n"
     "writes, dense and of the placeholder's type.\n"
     "\n"
     "    glow-run net.gir -input x=x.npy\n"
     "\n"
     "Give the tensor, or fix its type.\n"},

    {"E0503", "a node cannot be run",
     "Its operator is unknown (its plugin is not loaded), has no eval, or the\n"
     "node needs its own result.\n"
     "\n"
     "Load the plugin with -plugin=NAME, or break the cycle.\n"},

    {"E0504", "there is nothing to run",
     "The file holds placeholders and constants, but no function.\n"
     "\n"
     "    placeholder @x : float<4>\n"
     "\n"
     "Add a function or a program.\n"},

    {"E0505", "a result is not as expected",
     "An output differs from the file given with -expect by more than\n"
     "atol + rtol * |expected|.  The message shows the worst element.\n"
     "\n"
     "    glow-run net.gir -input x=x.npy -expect y=y.npy -rtol 1e-3\n"
     "\n"
     "Where the difference is rounding, give a larger -rtol or -atol.\n"},

    {"E0506", "the order in which queues run changes a result",
     "-backend='interp<orders=N>' runs a program with queues in the order of the\n"
     "text and in N random ones that its tokens allow.  An instruction does not\n"
     "wait for one of another queue that writes what it reads, or reads what it\n"
     "overwrites.\n"
     "\n"
     "    %l = copy @out %a, @in %x queue(\"load\")\n"
     "    %n = relu @out %y, @in %a queue(\"compute\")\n"
     "\n"
     "Signal a token behind the first and wait for it before the second;\n"
     "verify-engines names the two.\n"},

    {"E0507", "a function cannot be simulated",
     "-simulate needs a placed program, and a target with queues.\n"
     "\n"
     "    glow-opt -simulate=text net.gir   // without -target-file\n"
     "\n"
     "Name the target with -target-file or -backend, and run schedule-engines.\n"},

    {"E0510", "compiled code stopped at an instruction",
     "An operand holds a value that has no meaning there: an index of Gather\n"
     "that is outside of Data.\n"
     "\n"
     "    %y = Gather(@x, @i) {Axis: 0} : float<1>   // @i holds 7, @x is <4>\n"
     "\n"
     "Run it with -backend=interp to see which index it is.\n"},

    {"E0511", "a kernel changed memory that is not its own",
     "With -red-zones a network runs step by step, and behind each step all\n"
     "bytes but those of the buffers that it writes are as they were before.\n"
     "The message names the step, and what it changed.\n"
     "\n"
     "    glow-run net.gir -input x=x.npy -red-zones\n"
     "\n"
     "The kernel is at fault, not the program: please report it.\n"},

    /* E06xx: files and weights. */

    {"E0520", "a profile cannot be used",
     "A profile is JSON as glow-run -dump-profile writes it, or Glow's YAML: "
     "of\n"
     "each value the name, a range of finite numbers, and a histogram whose "
     "bins\n"
     "hold that range.\n"
     "\n"
     "    {\"version\": 1, \"runs\": 1, \"values\": [{\"name\": \"%x\", "
     "\"range\": [1, 0]}]}\n"
     "\n"
     "Make the profile anew, or correct the member that the message names.\n"},

    {"E0521", "a profile is of another graph",
     "No value of the function has the name and the type of one in the "
     "profile.\n"
     "The size of the first axis, which is that of the batch, may differ, and "
     "so\n"
     "may the order of the nodes.\n"
     "\n"
     "    glow-opt -load-profile=resnet50.prof vgg16.gir\n"
     "\n"
     "Profile the very text that is quantized: glow-opt -prepare -o, then\n"
     "glow-run -dump-profile of that file.\n"},

    {"E0522", "a histogram has too few bins",
     "calibrate with how=entropy merges the bins to as many as the quantized "
     "kind\n"
     "has numbers, so there must be more; percentile and mse need a "
     "histogram.\n"
     "\n"
     "    glow-opt -calibrate='profile=\"net.yaml\" how=entropy' net.gir\n"
     "\n"
     "Profile with -profile-bins=1024 or more, or take how=minmax.\n"},

    {"W0520", "a profile and a function have not the same values",
     "Values that the profile does not know get no range, so they are not\n"
     "quantized; names that the function does not have are of no use.\n"
     "\n"
     "    glow-opt -load-profile=before.prof after.gir\n"
     "\n"
     "Profile the very text that is quantized.\n"},

    {"W0521", "a value is not finite while it is profiled",
     "NaN and infinity have no place in a range and are left out of the "
     "profile.\n"
     "\n"
     "    glow-run net.gir -input=x=nan.npy -dump-profile=net.prof\n"
     "\n"
     "Correct the inputs, or keep the node in float.\n"},

    {"E0601", "a file cannot be read",
     "The operating system refuses to open or read the file; the message has\n"
     "its reason.\n"
     "\n"
     "    glow-opt missing.gir\n"
     "\n"
     "Check name and permissions.\n"},

    {"E0602", "a file cannot be written",
     "An output is made beside its final place and renamed when whole.  One\n"
     "of these steps failed; an existing file of that name is as it was.\n"
     "\n"
     "    glow-opt in.gir -o /missing/folder/out.gir\n"
     "\n"
     "Check the folder, its permissions and the space on the device.\n"},

    {"E0603", "a file is named that a model may not name",
     "Names inside models and modules are not trusted: such a file must be a\n"
     "regular file with one link, in the folder of the file that names it or\n"
     "below, and be reached without `..` and symbolic links.\n"
     "\n"
     "    weights \"w\" = safetensors(\"../../etc/passwd\")\n"
     "\n"
     "Put the file beside the module, or name it on the command line:\n"
     "-weights w=PATH.\n"},

    {"E0604", "a weights file is malformed",
     "The header of the file does not describe its bytes: it is cut short,\n"
     "has holes, overlaps, duplicates, unknown element kinds, or sizes that\n"
     "do not match shapes.\n"
     "\n"
     "    {\"w\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, "
     "4]}}\n"
     "\n"
     "Write the file again with the tool that made it.\n"},

    {"E0605", "a tensor is not in its weights file",
     "external(\"alias\", \"key\") names a key that the file does not hold.\n"
     "\n"
     "    constant @w : float<4> = external(\"net\", \"conv2.wieght\")\n"
     "\n"
     "The message suggests a key that is near, if there is one.\n"},

    {"E0606", "a tensor of a weights file has another type",
     "Element kind and shape in the file must be those of the constant.\n"
     "\n"
     "    constant @w : float<4> = external(\"net\", \"w\")   // F16 in the "
     "file\n"
     "\n"
     "Correct the type of the constant; a ConvertTo node can convert it.\n"},

    {"E0607", "a weights file has another hash than was stated",
     "The sha256 of the file is not, or does not begin with, the digits in\n"
     "the weights declaration: it is another file, or was changed.\n"
     "\n"
     "    weights \"w\" = safetensors(\"w.safetensors\", sha256: "
     "\"00000000\")\n"
     "\n"
     "Use the file that the module was written for, or remove the hash.\n"},

    {"E0608", "a constant without a value is needed",
     "Something must know the elements of a constant whose text was elided.\n"
     "\n"
     "    constant @c : float<512 x 512> = elided(\"sha256:1b4f0e98\")\n"
     "\n"
     "Use the module that the dump was made of, or bind the elements again\n"
     "with -reattach=FILE.safetensors.\n"},

    {"E0609", "the file to reattach lacks an elided constant",
     "-reattach looks for a tensor of the same kind and shape whose bytes "
     "have\n"
     "the hash that stands in the text, of at least 8 digits.\n"
     "\n"
     "    constant @c : float<512 x 512> = elided(\"sha256:1b4f0e98\")\n"
     "\n"
     "Give the file that the module had when it was printed.\n"},

    {"E0610", "a tensor of a state file has another type",
     "A file of state has a tensor of the name of a placeholder, but of other\n"
     "elements or another shape: it is of another network.\n"
     "\n"
     "    net.safetensors: the tensor `w` is F32<4 x 3>, but the placeholder\n"
     "    is float<3 x 4>\n"
     "\n"
     "Give the file that belongs to the network.\n"},

    {"E0611", "a trained placeholder has no first value",
     "State is zero at first, but weights of zero cannot be trained: each\n"
     "placeholder with {Trained: true} is read from a file.\n"
     "\n"
     "    glow-run step.gir -state new.safetensors\n"
     "\n"
     "Copy the file of free-constants or glow-translate -train there, or draw\n"
     "weights by glow-train -fresh.\n"},

    {"E0620", "a .npy file is malformed",
     "The file is not what its header says: the header is cut off or is no\n"
     "dictionary of descr, fortran_order and shape, or the elements are more "
     "or\n"
     "fewer than the shape has.\n"
     "\n"
     "Write it again with numpy.save.\n"},

    {"E0621", "a .npy file holds another type than is needed",
     "Shape and element kind must be those of the placeholder: <f4 for float,\n"
     "<i8 for index64, |i1 for i8, |b1 for bool.\n"
     "\n"
     "    numpy.save(\"x.npy\", x.astype(numpy.float32).reshape(1, 3, 8, "
     "8))\n"},

    {"E0622", "a picture cannot be used as input",
     "It is no PNG file, is damaged, or does not have the size or channels of\n"
     "the placeholder.\n"
     "\n"
     "    glow-run net.gir -input x=cat.png -image-layout NHWC\n"
     "\n"
     "Scale the picture, or say with -image-layout which axis holds "
     "channels.\n"},

    {"E0630", "a table of buffers is malformed",
     "The first line names the columns: id, lower, upper and size, in any\n"
     "order, and alignment and offset, which may be left out or empty.  Every\n"
     "other line has a cell for each: whole numbers that 64 bits hold, lower\n"
     "not beyond upper, ids that differ.\n"
     "\n"
     "    id,lower,upper,size\n"
     "    a,0,2,64\n"
     "    b,1,,64\n"
     "\n"
     "The caret shows the cell.\n"},

    {"E0631", "a buffer cannot lie at its offset",
     "An offset in a table is fixed.  It must be a multiple of the alignment,\n"
     "within the capacity, outside of what is forbidden, in one bank if the\n"
     "buffer fits in one, and apart from the others that live at the time.\n"
     "\n"
     "    id,lower,upper,size,offset\n"
     "    a,0,2,64,0\n"
     "    b,1,3,64,32\n"
     "\n"
     "Correct the offset, or leave it out to have one found.\n"},

    {"E0632", "buffers cannot be placed within a capacity",
     "Either there is no such placement, and the message says by which bound;\n"
     "or none was found.\n"
     "\n"
     "    glow-alloc -capacity=100 problem.csv\n"
     "\n"
     "Where none was found, -strategy=exact or a larger -budget may help.  "
     "Where\n"
     "there is none, shorten lifetimes: see the moment that is named.\n"},

    {"W0601", "an output will not find its weights",
     "A module names weights files relative to its own folder, in or below\n"
     "which they must lie.  This output is written to another one.\n"
     "\n"
     "    glow-opt -dce model/net.gir -o out/net.gir\n"
     "\n"
     "Write it beside them, or the weights beside it, by\n"
     "-externalize=out/net.safetensors, or name them when it is read:\n"
     "-weights ALIAS=PATH.\n"},

    /* E07xx: models. */

    {"W0602", "a cache is not used",
     "Entries of a cache are code that is run, so its folder must belong to\n"
     "the user or to root, nobody else may write it, and it holds nothing but\n"
     "entries.  The run goes on without it.\n"
     "\n"
     "    chmod 777 cache; glow-run net.gir -cache-dir=cache\n"
     "\n"
     "Take the right from the others by chmod go-w, or name a folder that is\n"
     "empty or does not exist yet.\n"},

    {"E0640", "samples do not fit a placeholder",
     "Samples lie along the first axis of a file.  The placeholder has room for\n"
     "the elements of a whole number of them, all files have as many samples,\n"
     "integers are not made of floats, and shift is for pictures.  A file of -data\n"
     "has at least the samples of one batch.\n"
     "\n"
     "    glow-train net.gir -data image=x.npy -data label=fewer.npy\n"
     "\n"
     "Reshape the file, or import the network for another batch.\n"},

    {"E0641", "a folder has no pictures for training",
     "Samples may be a folder that has a folder of .png for each class.\n"
     "\n"
     "    glow-train net.gir -data image=pictures -data label=pictures\n"
     "\n"
     "The folders are pictures/cat/1.png, pictures/dog/1.png and so on.\n"},

    {"E0642", "a loss is no number",
     "A step gave infinity or NaN for the loss.  The steps since the begin of\n"
     "the epoch were made again, and the interpreter looked for the first node\n"
     "whose result is no number.\n"
     "\n"
     "    glow-train net.gir -rate 1000 ...\n"
     "\n"
     "Take a smaller rate, -warmup or -clip-norm, or mend the samples.\n"},

    {"E0643", "a run cannot go on from a file",
     "The file of -state is of no run, or of one with another network, other\n"
     "options or other samples; then going on would be neither of the two.\n"
     "The same holds for the file of -log.\n"
     "\n"
     "    glow-train net.gir -state run.safetensors -rate 0.1   // was 0.01\n"
     "\n"
     "Take another file, and -init to begin with these weights.\n"},

    {"E0701", "a model's bytes are no protocol buffer",
     "The file is cut off, damaged, or something else than its name says.  "
     "The\n"
     "message has the byte at which reading ended.\n"
     "\n"
     "    model.onnx: byte 17: length runs past the end\n"
     "\n"
     "Fetch the file again.  Text protobuf must be named .onnxtxt, .pbtxt,\n"
     ".prototxt or .textproto.\n"},

    {"E0702", "the text of a protocol buffer cannot be read",
     "A field is unknown, or its value is not of its type.\n"
     "\n"
     "    graph { nodes { op_type: \"Relu\" } }\n"
     "\n"
     "Here the field is `node`; onnx.proto has all names.\n"},

    {"E0703", "a model is beyond a limit",
     "The memory and depth of a file are bounded before it is read:\n"
     "100 nested messages, 4 million messages, 256 MiB and 16 times the size "
     "of\n"
     "the file in memory, names of 64 KiB, a million nodes.\n"
     "\n"
     "    model.onnx: byte 4711: messages are nested over 100 deep\n"
     "\n"
     "Models of use stay far below; such a file is damaged or hostile.\n"},

    {"E0704", "a model is of a version that is not known",
     "A model says which IR version it is of, and which opset its operators\n"
     "are from.\n"
     "\n"
     "    opset_import { version: 0 }\n"
     "\n"
     "Convert it with onnx.version_converter.\n"},

    {"E0705", "a model needs what is not supported",
     "Operators without a form here are listed together, with how often they\n"
     "occur and where first; types and modes without one are named.\n"
     "\n"
     "    node { op_type: \"NonZero\" input: \"x\" output: \"y\" }\n"
     "\n"
     "Export the model with other operators, or cut that part off it.\n"},

    {"E0706", "a model's graph is no graph",
     "A value is used and never made, made twice, or made of itself, or an\n"
     "output is of another element type than the model declares.\n"
     "\n"
     "    node { op_type: \"Add\" input: \"x\" input: \"y\" output: \"y\" }\n"
     "\n"
     "Each value needs exactly one origin, and no cycle may lead back to "
     "it.\n"},

    {"E0707", "a model's tensor is not what it says",
     "The elements are more or fewer than the shape asks for, of another "
     "type,\n"
     "or in two places at once.\n"
     "\n"
     "    initializer { dims: 3 data_type: 1 float_data: 1 name: \"w\" }\n"
     "\n"
     "The file was written wrongly or is damaged.\n"},

    {"E0708", "a model's external data cannot be used",
     "The elements of a tensor are said to be in a file beside the model.  It\n"
     "must lie in the model's folder, be reached without `..` and links, and\n"
     "hold the stretch of bytes that is named.\n"
     "\n"
     "    external_data { key: \"location\" value: \"../weights.bin\" }\n"
     "\n"
     "Move the file beside the model, under a plain name.\n"},

    {"E0709", "an input of a model has no shape",
     "A dimension is open, so that nothing can be compiled.\n"
     "\n"
     "    dim { dim_param: \"batch\" }\n"
     "\n"
     "Give it a size: -dim batch=8, or -shape x=8x3x224x224.\n"},

    {"E0710", "an attribute of a model's node is wrong",
     "It is of another type than the operator has it, out of its range, or\n"
     "unknown to the operator in the opset of the model.\n"
     "\n"
     "    attribute { name: \"axis\" type: INT i: 9 }\n"
     "\n"
     "The operator's page at onnx.ai has its attributes in each opset.\n"},

    {"E0711", "an operand of a model's node is wrong",
     "There are too many or too few, or their shapes do not fit.\n"
     "\n"
     "    node { op_type: \"Relu\" input: \"x\" input: \"y\" output: \"z\" }\n"
     "\n"
     "The operator's page at onnx.ai has its operands in each opset.\n"},

    {"E0712", "a value that decides a shape is not known",
     "Shapes are fixed when a model is imported, so what they depend on must\n"
     "be constant: the second operand of Reshape, the axes of a reduction.\n"
     "\n"
     "    node { op_type: \"Reshape\" input: \"x\" input: \"shape\" ... }\n"
     "\n"
     "If it is an input, -bind shape=FILE.npy makes it a constant.\n"},

    {"E0713", "an option names nothing in the model",
     "-dim names a dimension that the model leaves open, -shape, -type and "
     "-bind\n"
     "an input; what they give it must be readable.\n"
     "\n"
     "    glow-translate -import-onnx model.onnx -dim btach=8\n"
     "\n"
     "Without the option the message of E0709 has the names.\n"},

    {"E0714", "how large a value is depends on data",
     "The number of elements of NonZero, Compress, Unique and NonMaxSuppression\n"
     "is known when the network runs, and shapes when it is imported.\n"
     "\n"
     "    node { op_type: \"NonZero\" input: \"x\" output: \"y\" }\n"
     "\n"
     "With -allow-bounded the result is as large as it may become, with zeros\n"
     "behind what counts, and the output @y has a second one, @y.count.  Few\n"
     "operators may follow such a value: Cast, Gather, GatherND, Identity,\n"
     "Reshape, Slice, Squeeze, Transpose and Unsqueeze.  Where -bind makes "
     "the\n"
     "operand a constant, the size is known, and there is no bound.\n"},

    {"E0720", "something has no form in ONNX",
     "Quantized types, predicates and operators that only Glow has cannot be\n"
     "exported.\n"
     "\n"
     "    placeholder @x : i8[S:0.5 O:0]<4>\n"
     "\n"
     "Export the graph before it is quantized or lowered.\n"},

    {"E0721", "there is nothing to export",
     "A model is made from one graph.  The module has none, or several, or\n"
     "only programs.\n"
     "\n"
     "    program @main { ... }\n"
     "\n"
     "-function=NAME says which; programs have no form in ONNX.\n"},

    {"E0722", "a model has nothing to train",
     "-train keeps initializers of floats, of one axis at least, as state.  This\n"
     "model has none that a node reads.\n"
     "\n"
     "    glow-translate -train -import-onnx relu.onnx -o net.gir\n"
     "\n"
     "Import it without -train.\n"},

    {"W0701", "a model states another shape for an output than it has",
     "Shapes that models state for their outputs are often stale.  What is\n"
     "computed counts.\n"
     "\n"
     "    output 'y' is not of the shape that the model states, but 1 x 3\n"
     "\n"
     "Nothing needs to be done.\n"},

    {"W0702", "an output of a model has no element",
     "A sequence becomes one placeholder for each element, an optional none "
     "or\n"
     "one.  This one is empty, so the module has nothing of it.\n"
     "\n"
     "    output 'y' is a sequence without an element, and left out\n"
     "\n"
     "Nothing needs to be done.\n"},

    {"W0703", "a model is of a newer version than is known",
     "Operators of newer opsets are taken as they were in the last opset that\n"
     "is known.  An operator that is new is refused by its name (E0705), an\n"
     "attribute or an element type that is new by E0710 or E0705.\n"
     "\n"
     "    model.onnx: is of opset 99; 1 to 26 are known, and it is taken as "
     "26\n"
     "\n"
     "Compare some results with another runtime's, or convert the model with\n"
     "onnx.version_converter.\n"},

    {"W0704", "a model declares another element type for an output than it has",
     "The computed element type counts.\n"
     "\n"
     "    model.onnx: output 'y' is declared as element type 1, FLOAT, but "
     "the\n"
     "    graph computes 9, BOOL\n"
     "\n"
     "Declare the computed type in the model, or convert the output by a "
     "Cast.\n"},

    /* E08xx: plugins and backends. */

    {"E0801", "a definition cannot be registered",
     "An operator, pass or backend lacks something that every one has, or\n"
     "contradicts itself.\n"
     "\n"
     "    const glow_pass p = {.name = \"acme.fuse\", .summary = \"fuse\"};\n"
     "\n"
     "Complete the definition as the message says.\n"},

    {"E0802", "a name is registered already",
     "Two plugins, or a plugin twice, bring the same name.\n"
     "\n"
     "    glow-opt -plugin=acme -plugin=acme\n"
     "\n"
     "Load one of them.  GLOW_PLUGINS in the environment counts too.\n"},

    {"E0803", "a plugin cannot be found or loaded",
     "A name with a slash is a path.  Any other is looked for as NAME.so and\n"
     "libNAME.so in the folders of GLOW_PLUGIN_PATH and in the one that glow\n"
     "installs plugins to.  The message lists what was tried, or says what "
     "the\n"
     "dynamic linker says.\n"
     "\n"
     "    glow-opt -plugin=acem\n"
     "\n"
     "Correct the name, or give the path.\n"},

    {"E0804", "a shared object is no plugin",
     "It has no symbol glow_plugin_query, which is how a plugin says what it\n"
     "is.\n"
     "\n"
     "    glow-opt -plugin=/usr/lib/x86_64-linux-gnu/libm.so.6\n"
     "\n"
     "See examples/plugin for a plugin that has it.\n"},

    {"E0805", "a plugin was built for another ABI",
     "The major version of the ABI is raised when something changes its\n"
     "layout, the minor one when something is added.  A plugin works with its\n"
     "own major version, from the least minor one that it names.\n"
     "\n"
     "    acme.so was built for glow ABI 1, this is ABI 2\n"
     "\n"
     "Build the plugin against the headers of this glow.\n"},

    {"E0806", "a plugin was built with other layouts",
     "The ABI is the same, but ranks, numbers of operands or sizes of\n"
     "structures are not: the headers were changed.  Passes, backends and\n"
     "importers may be shorter than here: they are of an older minor version.\n"
     "\n"
     "    #define GLOW_MAX_RANK 6\n"
     "\n"
     "Build the plugin against the headers of this glow.\n"},

    {"E0807", "a plugin declines",
     "The plugin was asked and gave a reason why it cannot work here.\n"
     "\n"
     "    *reason = \"the accelerator is not plugged in\";\n"
     "\n"
     "The reason is the plugin's own: ask its maker.\n"},

    {"E0808", "a plugin uses a name that is not its own",
     "All operators, passes and backends of a plugin begin with its name and "
     "a\n"
     "dot, so that no two can collide.\n"
     "\n"
     "    .name = \"acme\", .passes = {&(const glow_pass){.name = \"dce\"}}\n"
     "\n"
     "Call it acme.dce.\n"},

    {"E0809", "more or less than one function is to be compiled or drawn",
     "An object file or bundle has a function for each of the module that no\n"
     "other calls, and needs one; a picture of memory shows one.\n"
     "\n"
     "    function @a { ... }\n"
     "    function @b { ... }\n"
     "\n"
     "Put the functions into modules of their own.\n"},

    {"E0811", "no backend has this name",
     "glow-opt -list-targets lists the backends, those of plugins included.\n"
     "\n"
     "    glow_backend_parse(...)   // \"gpu\"\n"
     "\n"
     "Load the plugin that brings it: -plugin=NAME.\n"},

    {"E0821", "no code can be made for a target",
     "LLVM does not know the triple, or was built without its target; or the\n"
     "kernels are not for such a processor, or it is big-endian; or\n"
     "-subnormals=flush is asked of a processor without such a mode.\n"
     "\n"
     "    glow-opt -emit-object -target=x87-linux net.gir -o net.o\n"
     "\n"
     "A triple is machine, vendor, system: x86_64-pc-linux-gnu.\n"},

    {"E0822", "buffers lie where the backend cannot have them",
     "The cpu backend takes programs of which every buffer has a place in a\n"
     "region.\n"
     "\n"
     "    glow-opt -emit-object -disable-pass=alloc in.gir -o out.o\n"
     "\n"
     "Let the pass alloc place the program.\n"},

    {"E0823", "a backend has no kernel for an instruction",
     "The operator is unknown to the backend, or not with these types.\n"
     "\n"
     "    %y = Gemm(@a, @b, _) : float<2 x 2>   // run without -lower\n"
     "\n"
     "The pass lower says it in operators that every backend has.\n"},

    {"E0824", "LLVM refuses the code",
     "This is a bug of the cpu backend.  The message is LLVM's own.\n"},

    {"E0825", "code for another machine cannot be run",
     "Code for another machine, or for what this one does not have, can be\n"
     "emitted, not run.\n"
     "\n"
     "    glow-run -cpu=sapphirerapids net.gir   // without AVX-512\n"
     "\n"
     "Leave it out, take away what is missing by -features, or emit an object "
     "and\n"
     "run it there.\n"},

    {"E0826", "a processor or feature is not known",
     "-cpu and -features take the names that LLVM has for the target.\n"
     "\n"
     "    glow-opt -emit-object -cpu=haswel net.gir -o net.o\n"
     "\n"
     "`llc -mtriple=x86_64-pc-linux-gnu -mcpu=help` lists them.  One more says "
     "how\n"
     "long the registers of SVE are: -features=sve-vector-bits=256, or 512.\n"},

    {"E0827", "a tuning file is not one",
     "Lines name a machine and an instruction, then a kernel and the numbers\n"
     "that it is to go by, each once and within its bounds.\n"
     "\n"
     "    glow-tuning 1\n"
     "    x86_64/haswell/256 MatMul ... => matmul_direct rows=99\n"
     "\n"
     "-tune writes such files, `docs/tuning.md` describes them.\n"},

    {"E0828", "a kernel cannot do what a tuning file says",
     "The numbers are each within their bounds, but together they ask for "
     "more\n"
     "than the kernel can do with this instruction.\n"
     "\n"
     "    ... => matmul_direct rows=64 vectors=8   // 512 sums at a time\n"
     "\n"
     "Take the line out, or tune again: a file may be from another version.\n"},

    {"E0829", "code needs more memory than the limit",
     "-limit bounds the activations of what is emitted.  `schedule` counts "
     "the\n"
     "buffers and the scratch of the target's kernels (E0333); code that a "
     "tuning\n"
     "file chooses, or that threads share out, may need more scratch.\n"
     "\n"
     "    glow-opt -O2 -emit-bundle -limit=16KiB -cpu=haswell net.gir -o net\n"
     "\n"
     "The capacities of the memory spaces of -target-file are bounds too: "
     "kernels\n"
     "pack their weights, which may take more bytes than in the graph.\n"
     "\n"
     "Raise the limit, or leave out -threads or the tuning file.\n"},

    {"E0830", "LLVM cannot be loaded",
     "The cpu backend loads LLVM's shared library when it makes or loads "
     "code.\n"
     "The message is the loader's.\n"
     "\n"
     "    LD_LIBRARY_PATH=/opt/llvm/lib glow-run net.gir\n"
     "\n"
     "Install the version that -version names, or say where it is.\n"},

    {"E0831", "LLVM cannot make code for a target",
     "LLVM knows the processor, but not with this system, these features or "
     "this\n"
     "code, and would end the process.  The message is LLVM's own.\n"
     "\n"
     "    glow-opt -emit-object -target=wasm32-none-elf net.gir -o net.o\n"
     "\n"
     "Name the system that the processor is used with: "
     "wasm32-unknown-unknown.\n"},

    {"E0850", "a part is on a device that the file does not have",
     "A Run names its device, and -devices names the file of those that there "
     "are.\n"
     "\n"
     "    %p = Run(@x) {Body: @part0, Device: \"npu\"} : float<4>\n"
     "\n"
     "Run the network with the devices file that it was partitioned for, or\n"
     "partition it again.\n"},

    {"E0851", "the parts on a device need more memory than it has",
     "A part takes its constants as the backend packs them, its placeholders "
     "and\n"
     "its activations.  partition counts them as they are in the graph, so "
     "that\n"
     "packed weights and the scratch of kernels may need more.\n"
     "\n"
     "    glow-run -devices=small.json parts.gir -input x=zero\n"
     "\n"
     "Partition with `load=true`, which compiles the parts, or with a smaller\n"
     "`memory`, by the difference.\n"},

    {"E0852", "there is no linker for WebAssembly",
     "A bundle for wasm32 is linked to NAME.wasm by wasm-ld of LLVM, which is\n"
     "looked for in the folders of PATH, as wasm-ld-19 first.\n"
     "\n"
     "    glow-opt -O2 -emit-bundle -target=wasm32-unknown-unknown net.gir -o "
     "net\n"
     "\n"
     "Install it (Debian: lld-19), or write an object (-emit-object) and link "
     "it\n"
     "elsewhere.\n"},

    {"E0853", "the linker refuses a bundle for WebAssembly",
     "The message is the first line of wasm-ld: a version older than LLVM's "
     "may\n"
     "not know what the object uses.\n"
     "\n"
     "    glow-opt -O2 -emit-bundle -target=wasm32-unknown-unknown net.gir -o "
     "net\n"
     "\n"
     "Put wasm-ld of the version that -version names first in PATH.\n"},

    {"E0854", "a bundle for WebAssembly cannot have its weights in C",
     "The module of a bundle for wasm32 is linked from the object alone, and "
     "has\n"
     "its weights from a file or from that object.\n"
     "\n"
     "    glow-opt -O2 -emit-bundle -bundle-weights=c "
     "-target=wasm32-unknown-unknown \\\n"
     "        net.gir -o net\n"
     "\n"
     "Use -bundle-weights=object, or leave the option out.\n"},

    /* E09xx: the command line. */

    {"E0900", "the command line is wrong",
     "An option does not exist, lacks its value, or contradicts another.\n"
     "\n"
     "    glow-opt -print-chagned net.gir\n"
     "\n"
     "`-help` shows all options, `-help=NAME` explains one.\n"},

    /* E10xx: the runtime. */

    {"E1001", "a device has no room for a network",
     "Code, constants and activations of a network exceed what is free of the\n"
     "memory that a device has.\n"
     "\n"
     "    glow-serve -memory=64KiB resnet=resnet18.gir\n"
     "\n"
     "Give it more, unload another network, or use one of fewer bytes.\n"},

    {"E1002", "a service has no device",
     "A service names a device that the host does not have.\n"},

    {"E1003", "a network cannot run batches",
     "Batches put samples together along the first axis of all inputs and\n"
     "outputs, which must count as many as a batch has.\n"
     "\n"
     "    glow-serve -batch=8 net=net.gir   // @x : float<1 x 3 x 8 x 8>\n"
     "\n"
     "Import the model for that number of samples.  State cannot be shared.\n"},

    {"E1004", "a network keeps state between runs",
     "State belongs to a sequence of runs, and the samples of a data set run in any\n"
     "order.\n"
     "\n"
     "    placeholder @count : index64<> {State: true}\n"
     "\n"
     "Make the state an input and an output, or run it with `glow-run -state`.\n"},

    {"E1005", "two devices have one name",
     "Devices are told apart by their names.\n"},

    {"E1006", "a server cannot start",
     "Its address is in use, or cannot be used.\n"
     "\n"
     "    glow-serve -port=80 net=net.gir\n"
     "\n"
     "Choose another -port, or end the program that has it.\n"},

    {"E1007", "a network has elements that the protocol has no word for",
     "The Open Inference Protocol knows integers of 8 to 64 bits, floats of 16 to\n"
     "64 bits, bfloat16 and bool.\n"},

    {"E1008", "a graph of parts has something else in it",
     "A service of several parts is a graph of Runs, which read its inputs and\n"
     "each other's results, and of Saves of their results, one for each.\n"
     "\n"
     "    %a = Run([@x]) {Body: @part0, Device: \"card\"} : float<4>\n"
     "    %b = Relu(%a) : float<4>    // on no device\n"},

    {"E1009", "a device cannot be started, or is gone",
     "The system has no more threads, or no memory that processes may share; the\n"
     "command of a device in another process could not be started; or that process\n"
     "ended while it loaded a network: its messages come before this one.\n"},

    {"E1010", "a device in another process cannot load a network",
     "The message is that of the process.\n"},

    {"E1011", "a state object is broken",
     "A run in host memory writes state in place; one that failed, was cancelled or\n"
     "came too late may have written some of it.\n"
     "\n"
     "Load the object from a file, or go on with a copy that was made before.\n"},

    {"E1012", "a run on devices was not done",
     "The message has the outcome, the part, and the report of its device.\n"
     "\n"
     "    glow-run -devices=FILE -in-flight=4 parts.gir -input x=list:files\n"},

    {"E1013", "there is no executor of that name",
     "An executor is where commands of devices run: serial, threads or starpu.\n"
     "\n"
     "    glow-serve -executor=serial net=net.gir\n"},

    {"E1014", "StarPU cannot be used",
     "The build has no StarPU, the library is not installed, or it does not start;\n"
     "the message says which.\n"
     "\n"
     "    apt-get install libstarpu-1.3-9\n"
     "\n"
     "Threads (-executor=threads) need nothing.\n"},
    {"E1020", "a sequence is not live",
     "A request of a model that keeps state names a sequence that was not started,\n"
     "has ended, was idle for longer than -sequence-idle-ms, or whose model was\n"
     "loaded again.\n"
     "    {\"inputs\": [...], \"parameters\": {\"sequence_id\": 7}}\n"
     "Start it with \"sequence_start\": true, or put a state that was saved.  Behind a\n"
     "balancer all requests of a sequence must go to one server.\n"},
    {"E1021", "as many sequences are live as may be",
     "A server holds the state of at most -sequences, until they end or are idle for\n"
     "-sequence-idle-ms.\n"},
    {"E1022", "a sequence has failed",
     "A request of it was not done, and may have written state in part, or later\n"
     "requests were taken before that was known, and lack it.\n"
     "Start the sequence again, or put a state that was saved.\n"},
    {"E1023", "a sequence has requests that were not answered",
     "Its state is that after all of them.\n"
     "Ask for the state after their answers.\n"},

    {"E1024", "a server ended before its requests",
     "A run on a device took longer than -end-ms after the server was told to end.\n"
     "\n"
     "    glow-serve -isolate -limit-ms=10000 -end-ms=60000 net=net.gir\n"
     "\n"
     "-limit-ms ends devices that hang, and -timeout-ms bounds requests.\n"},

    {"E1025", "the sizes of a service are of different networks",
     "A service may have a network for each of several numbers of samples.  All have\n"
     "the same inputs and outputs, of the same types but for the first axis.\n"
     "\n"
     "    glow-serve net=net-1.gir,net-16.gir\n"
     "\n"
     "Import one model for each number of samples, under the same options.\n"},
    {"E1026", "two sizes of a service are one",
     "Of two networks for the same number of samples no batch would go to the second.\n"
     "\n"
     "    glow-serve net=net-1.gir,copy-of-net-1.gir\n"},
    {"E1030", "a sequence cannot start with zeros",
     "The model has placeholders that are `Trained`, whose first contents come from a\n"
     "file, as glow-train or glow-run -state writes it.\n"
     "\n"
     "    curl -T net.safetensors localhost:8000/v2/models/net/sequences/7/state\n"
     "\n"
     "Requests on the sequence follow without \"sequence_start\".\n"},

    {"E1031", "state cannot stay on a device",
     "Resident state is in memory of one device, which is out of reach of the host: no\n"
     "other device uses the tensor, and one part alone reads it.\n"
     "\n"
     "    glow-run -in-flight=2 -isolate -resident -state=s.safetensors net.gir\n"
     "\n"
     "On other devices state is copied for each request, or used in place.\n"},

    /* E11xx: jobs. */

    {"E1101", "the database of jobs cannot be reached",
     "The server of -database, or of libpq's variables (PGHOST, PGDATABASE, ...),\n"
     "is not there or refuses the user; the message is that of libpq.\n"
     "\n"
     "    glow-work status -database=host=nowhere\n"
     "\n"
     "A worker tries again for -patience seconds.\n"},

    {"E1102", "the database of jobs refuses a statement",
     "The tables are missing, or the user may not use them; the message is that\n"
     "of the server.\n"
     "\n"
     "    glow-work create\n"
     "\n"
     "makes the tables in the schema glow_work.\n"},

    {"E1103", "a data set is not there, or is there already",
     "Data sets are told apart by their names.\n"
     "\n"
     "    glow-work status\n"
     "\n"
     "lists them.\n"},

    {"E1104", "a data set does not fit a network",
     "The first axes of all inputs and outputs of the network count as many\n"
     "samples.  Files have the samples along their first axes, as many in each,\n"
     "with as many elements of the same kind as the input takes for one.\n"
     "\n"
     "    glow-work run -model=net.gir -input image=bytes.npy -o results\n"
     "\n"
     "Convert the file, or import the network for samples along the first axis.\n"},

    {"E1105", "results of a data set are missing",
     "Some jobs of the set are not done or were given up, or a file of a result\n"
     "was changed or removed.\n"
     "\n"
     "    glow-work gather digits -o all\n"
     "\n"
     "Start workers until `glow-work status` shows no jobs that are left.\n"},

    {"E1106", "a run of a chunk failed",
     "The network reported an error on samples of the chunk, as an index out of\n"
     "range, or the device was lost.\n"},

    {"E1107", "a job was given up",
     "The job failed, or ended its worker, as often as -tries says.  Other jobs go\n"
     "on.\n"
     "\n"
     "    digits, samples 40 to 47: given up after 5 tries: E0601: cannot read ...\n"
     "\n"
     "Mend the cause, and let the jobs be tried again by `glow-work resume`.\n"},

    {"W1101", "the database of jobs is tried again",
     "The connection ended or cannot be made.  The worker tries again with growing\n"
     "pauses for -patience seconds; its job is free at once.\n"},

    {"W1102", "a try of a job failed",
     "Its job is tried again, by any worker, after -retry-ms, until it has failed\n"
     "as often as -tries says.\n"},

    {"W1103", "a job ended after the lease of its worker",
     "The worker was stopped for longer than -lease, or lost its connection, and\n"
     "another may have the job.  What it computed does not count; it goes on with\n"
     "another job.\n"},

    /* The end. */
    {NULL, NULL, NULL},
};

const glow_diag_info *
glow_diag_find(const char *id)
{
    for (const glow_diag_info *d = table; d->id; d++)
        if (strcmp(d->id, id) == 0)
            return d;
    return NULL;
}

const glow_diag_info *
glow_diag_all(void)
{
    return table;
}
