# Readers of models under a fuzzer; test_fuzz_model_files runs the same targets over the seeds and changes of them, with any
# compiler.
millrace_test(test_fuzz_model_files SOURCES test_fuzz_model_files.cpp model_file_targets.cpp LINKS millrace_storage)

if(MILLRACE_FUZZ)
  # The readers alone: what computes is of no use here.
  set(readers float_conversion.cpp safetensors.cpp safetensors_header.cpp)
  list(TRANSFORM readers PREPEND ${CMAKE_SOURCE_DIR}/engine/storage/)
  foreach(target safetensors_file safetensors_index model_config added_tokens)
    add_executable(fuzz_${target} fuzz_${target}.cpp model_file_targets.cpp ${readers})
    target_include_directories(fuzz_${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(fuzz_${target} PRIVATE millrace_options millrace_model)
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
