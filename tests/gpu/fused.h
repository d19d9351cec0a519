// fused.h - tests of fused nodes on the device, as trials (trials.h).
#pragma once

void fused_nodes(void);   // those of random graphs, whole and in parts
void fused_placed(void);  // and where results are in operands, or begin between packs
void fused_rounds(void);  // what is stored as bf16 in between is rounded
void fused_leads(void);   // a row's sum in the place of its operand
