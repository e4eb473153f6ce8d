//===- LinkedPrograms.cpp - the programs that are linked into this file -------------------------------------------===//
//
// Apart from the rest, so that a process with several models, or a test, can use sessions without this symbol.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moert/session.h"

extern "C" const moert_program_list *moert_session_programs(void) { return &moert_model_programs; }
