# Thousands of brute-force searches: slow under ThreadSanitizer on a busy machine.
set_tests_properties(test_ghosts test_wrapped PROPERTIES TIMEOUT 900)
