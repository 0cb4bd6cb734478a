/* All kernels, in the order of preference for each operator. */

#ifndef CODEGEN_CPU_PLAN_LIST_H
#define CODEGEN_CPU_PLAN_LIST_H

#define CPU_KERNELS(K)              \
    K(argmax)                       \
    K(argmin)                       \
    K(avgpool_whole)                \
    K(avgpool_lines)                \
    K(avgpool)                      \
    K(batchmatmul_integer)          \
    K(batchmatmul_plain_integer)    \
    K(batchmatmul_matrix)           \
    K(batchmatmul_direct)           \
    K(batchmatmul)                  \
    K(concat)                       \
    K(control_if)                   \
    K(control_loop)                 \
    K(conv_depthwise_integer)       \
    K(conv_grouped)                 \
    K(conv_integer)                 \
    K(conv_plain_integer)           \
    K(conv_winograd)                \
    K(conv_matrix)                  \
    K(conv_direct)                  \
    K(convertrows)                  \
    K(convolution)                  \
    K(convtranspose_direct)         \
    K(convtranspose)                \
    K(cumprod)                      \
    K(cumsum)                       \
    K(fullyconnected_integer)       \
    K(fullyconnected_plain_integer) \
    K(fullyconnected_matrix)        \
    K(fullyconnected_direct)        \
    K(fullyconnected)               \
    K(fusedattention_matrix)        \
    K(fusedattention)               \
    K(gather)                       \
    K(gru)                          \
    K(inserttensor)                 \
    K(layernormalization)           \
    K(localresponsenormalization)   \
    K(logsoftmax)                   \
    K(lstm)                         \
    K(matmul_integer)               \
    K(matmul_plain_integer)         \
    K(matmul_matrix)                \
    K(matmul_direct)                \
    K(matmul)                       \
    K(maxpool_lines)                \
    K(maxpool)                      \
    K(maxpoolwithargmax)            \
    K(maxroipool)                   \
    K(nonmaxsuppression)            \
    K(nonzero)                      \
    K(pad)                          \
    K(quantizationprofile)          \
    K(reduceadd)                    \
    K(reducemax)                    \
    K(reducemean)                   \
    K(reducemin)                    \
    K(reduceprod)                   \
    K(resizebilinear)               \
    K(resizenearest)                \
    K(scatterdata)                  \
    K(rnn)                          \
    K(roialign)                     \
    K(softmax)                      \
    K(sparselengthsweightedsum)     \
    K(tile)                         \
    K(topk)                         \
    K(transpose_tiled)              \
    K(unique)

#endif
