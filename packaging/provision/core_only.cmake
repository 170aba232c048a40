# Read right after llama.cpp's own project() call: leave out its library of command-line helpers, which the binding
# does not use and whose option the binding's CMakeLists.txt would otherwise force on.
set(LLAMA_BUILD_COMMON OFF)

include("${CMAKE_CURRENT_LIST_DIR}/processor.cmake")
