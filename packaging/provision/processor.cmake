# Read by core_only.cmake: what of this processor is better left unused.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceRuns)

# With AVX512-FP16, ggml adds up half-precision vectors in steps of 128 numbers, and what is left over one by one, in
# conversions made of shifts: a model with heads of 64 has nothing but leftovers, and each token costs two to three times
# as much time for every token before it.  Without, the steps are of 64, and the sums are single precision.
set(left_out avx512fp16)

# AMX goes where the compiler gets it wrong.  GCC 12 takes most of what is written to a tile configuration for stores
# that nobody reads, and drops them; the first matrix instruction then ends the process with SIGILL.  The program below
# does what ggml does; where there is no AMX, or no permission to use it, it does nothing.
if(NOT MSVC AND NOT CMAKE_CROSSCOMPILING AND NOT DEFINED TUTTI_TILES_WORK)
    set(CMAKE_REQUIRED_FLAGS "-O3 -march=native")
    check_cxx_source_runs("
#if defined(__AMX_TILE__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

struct Tiles {
    unsigned char palette, start, reserved[14];
    unsigned short bytes[16];
    unsigned char rows[16];
};

int main() {
    const int request_permission = 0x1023, tile_data = 18;
    if (syscall(SYS_arch_prctl, request_permission, tile_data)) {
        return 0;
    }
    alignas(64) Tiles tiles = {};
    tiles.palette = 1;
    for (int tile = 0; tile < 8; ++tile) {
        tiles.rows[tile] = 16;
        tiles.bytes[tile] = 64;
    }
    _tile_loadconfig(&tiles);
    _tile_zero(7);
    return 0;
}
#else
int main() { return 0; }
#endif
" TUTTI_TILES_WORK)
    unset(CMAKE_REQUIRED_FLAGS)
endif()

if(NOT TUTTI_TILES_WORK)
    list(APPEND left_out amx-tile amx-int8 amx-bf16)
endif()

if(NOT MSVC)
    foreach(feature IN LISTS left_out)
        string(MAKE_C_IDENTIFIER "TUTTI_NO_${feature}" known)
        check_cxx_compiler_flag("-mno-${feature}" ${known})
        if(${known})
            add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-mno-${feature}>")
        endif()
    endforeach()
endif()
