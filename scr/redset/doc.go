// Package redset protects the files of ranks against the loss of some of them, as
// SCR and its library redset do, byte for byte: SINGLE (no redundancy), PARTNER
// (copies), XOR, and RS (Reed-Solomon).
//
//	Form, New      which ranks make a set, no two of one failure group
//	Set.Encode     makes the redundancy files of a rank's files
//	Recover        rebuilds what is lost or corrupt, at any later time; Offline without ranks
//	Compare        data against redundancy where there are no checksums
//	Drop           removes redundancy files
//
// A redundancy file appears under its name when all ranks have written and synced
// theirs. User files are only ever replaced whole, by rename, after all lost data
// in every set has been rebuilt, checked and synced. Every byte
// that is read to rebuild is first compared with its CRC-32, if there are
// checksums; what does not match counts as lost. Without checksums (the reference
// makes none) data and redundancy must agree as far as there is some to spare,
// else all ranks get a *DoubtError. Losses beyond the scheme change nothing and
// are a *LostError on all ranks.
//
// Losses count per stripe, not per member: damage in several members is mended as
// long as no stripe lacks more chunks than the scheme bears.
//
// docs/format-redset.md has names, headers and bytes.
//
// Read first: set.go, encode.go, recover.go.
package redset
