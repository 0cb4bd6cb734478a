/* The weights and the inputs of program.c. */
    .section .rodata
    .globl weights, inputs, inputs_end
    .balign 64
weights:
    .incbin "net.weights"
    .balign 64
inputs:
    .incbin "inputs"
inputs_end:
