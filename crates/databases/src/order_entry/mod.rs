//! Order entry, derived from TPC-C's published description; its figures are no TPC results.
