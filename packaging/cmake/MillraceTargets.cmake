# What every target of the project shares: language level, warnings, sanitizers; and the two
# functions that engine folders and tests declare themselves with.

add_library(millrace_options INTERFACE)
target_compile_features(millrace_options INTERFACE cxx_std_20)
# Host code within CUDA sources passes through nvcc, whose own output is not pedantic.
target_compile_options(millrace_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor;-Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<BOOL:${MILLRACE_WERROR}>:$<$<COMPILE_LANGUAGE:CXX>:-Werror>$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(millrace_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>) # false alarms inside std::string (GCC bug 105651)
endif()
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${MILLRACE_SANITIZE};-fno-omit-frame-pointer>)
  target_link_options(millrace_options INTERFACE -fsanitize=${MILLRACE_SANITIZE})
endif()
find_package(Threads REQUIRED)
target_link_libraries(millrace_options INTERFACE Threads::Threads)

# millrace_library(<folder> SOURCES ... [LINKS ...] [PRIVATE_LINKS ...])
# One static library for one folder of engine/: target millrace_<folder>, includes rooted at engine/.
function(millrace_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(millrace_${folder} STATIC ${ARG_SOURCES})
  target_include_directories(millrace_${folder} PUBLIC ${CMAKE_SOURCE_DIR}/engine ${CMAKE_SOURCE_DIR}/engine/include)
  set_target_properties(millrace_${folder} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(millrace_${folder} PUBLIC millrace_options ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# millrace_isa_sources(<target> <source>) compiles one kernel source once per instruction set. Each copy sees
# MILLRACE_ISA (baseline, avx2 or avx512) as the namespace to define its functions in; callers choose at run time.
function(millrace_isa_sources target source)
  get_filename_component(stem ${source} NAME_WE)
  foreach(isa baseline avx2 avx512)
    set(copy ${CMAKE_CURRENT_BINARY_DIR}/${stem}.${isa}.cpp)
    file(GENERATE OUTPUT ${copy} CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
    target_sources(${target} PRIVATE ${copy})
    set(flags "-O3;-fopenmp-simd;-fno-math-errno;-fno-trapping-math")
    if(isa STREQUAL avx2)
      list(APPEND flags -mavx2 -mfma -mf16c)
    elseif(isa STREQUAL avx512)
      list(APPEND flags -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512)
    endif()
    set_source_files_properties(${copy} PROPERTIES COMPILE_OPTIONS "${flags}" COMPILE_DEFINITIONS "MILLRACE_ISA=${isa}" GENERATED ON)
  endforeach()
endfunction()

# millrace_test(<name> SOURCES ... LINKS ... [LABELS ...]): one Qt Test program, one ctest entry of the same name.
function(millrace_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE millrace_options Qt6::Test ${ARG_LINKS})
  target_compile_definitions(${name} PRIVATE QT_NO_KEYWORDS MILLRACE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/golden" MILLRACE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES AUTOMOC ON)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "QT_QPA_PLATFORM=offscreen;TSAN_OPTIONS=halt_on_error=1 die_after_fork=0 suppressions=${CMAKE_SOURCE_DIR}/tests/tsan_suppressions.txt;UBSAN_OPTIONS=halt_on_error=1 print_stacktrace=1")
endfunction()
