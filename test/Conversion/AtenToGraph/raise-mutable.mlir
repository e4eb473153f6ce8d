// RUN: moe-opt %s --raise-aten-to-graph --verify-diagnostics

// expected-error@+1 {{has in-place calls; run aten-functionalize first}}
func.func @main() attributes {aten.mutable} {
  return
}
