//===- LinkedProgram.cpp - the program that is linked into this file ----------------------------------------------===//
//
// Apart from the rest, so that a program with several models, or a test, can use sessions without this symbol.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moert/session.h"

extern "C" const moert_program *moert_session_program(void) { return &moert_model_program; }
