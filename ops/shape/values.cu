// values.cu - y[i] = number i of the list, where i is the index in the global value.
__device__ const int list[] = {LIST};
extern "C" __global__ void values(int *y, long long n, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) y[i] = list[GR_GLOBAL_OF(i)];
}
