# frit_test_labels(NAME OUT): the labels of a test program, from its name.
#   slow         whole networks, sweeps over all floats, all dtypes, tensors of gigabytes, and tables of values of compiled
#                kernels, which no sanitizer sees into (random snippets and graphs stand for their way there): release only
#   sanitize     every other program: also run under the address and undefined-behaviour sanitizers in CI
#   concurrency  what shares state between threads or processes: also run under the thread sanitizer in CI
function(frit_test_labels name out)
  if(name MATCHES "network|ulp|sweep|speed|scripts|example|dtypes|index64|differential|compiled|texts|opencl|lowered")
    set(labels slow)
  else()
    set(labels sanitize)
  endif()
  if(name MATCHES "concurren|worker|cache|fork")
    list(APPEND labels concurrency)
  endif()
  set(${out} "${labels}" PARENT_SCOPE)
endfunction()
