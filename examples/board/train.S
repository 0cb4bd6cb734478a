/* Constants, first weights and pictures in flash. */
    .section .rodata
    .globl constants, first_state, images, labels, labels_end
    .balign 64
constants:
    .incbin "step.weights"
    .balign 4
first_state:
    .incbin "step.state"
    .balign 4
images:
    .incbin "images"
labels:
    .incbin "labels"
labels_end:
    .section .note.GNU-stack, "", %progbits
