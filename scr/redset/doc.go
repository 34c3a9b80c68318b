// Package redset protects the files of ranks against the loss of some ranks. It writes the same
// files as SCR and SCR's library redset, byte for byte. The schemes are SINGLE (no redundancy),
// PARTNER (copies), XOR, and RS (Reed-Solomon).
//
//	Form, New      form sets of ranks of different failure groups
//	Set.Encode     writes the redundancy files for a rank's files
//	Recover        rebuilds lost and corrupt files at any later time; Offline works without ranks
//	Compare        compares data with redundancy if there are no checksums
//	Drop           removes redundancy files
//
// The redundancy files get their names when all ranks have written and synced them. User files
// are replaced only by rename of a whole file, after all lost data in every set have been
// rebuilt, checked and synced. Bytes that are read for a rebuild are compared with their CRC-32,
// and bytes that do not match are treated as lost. The original SCR writes no checksums. Without
// checksums, data and spare redundancy are compared. If they disagree, all ranks get a
// *DoubtError. If losses exceed the scheme, nothing changes and all ranks get a *LostError.
//
// Losses are counted in each stripe, not in each member. Therefore damage in several members can
// be repaired if no stripe has lost more chunks than the scheme tolerates.
//
// docs/format-redset.md describes names, headers and bytes.
//
// Read first: set.go, encode.go, recover.go.
package redset
