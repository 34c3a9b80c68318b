// Package redset protects the files of ranks against the loss of some ranks. Its files
// equal the files of SCR and its library redset, byte for byte. The schemes are SINGLE (no
// redundancy), PARTNER (copies), XOR, and RS (Reed-Solomon).
//
//	Form, New      form sets of ranks of different failure groups
//	Set.Encode     writes the redundancy files for a rank's files
//	Recover        rebuilds lost and corrupt files at any later time; Offline works without ranks
//	Compare        compares data with redundancy if there are no checksums
//	Drop           removes redundancy files
//
// Redundancy files get their names when all ranks have written and synced them. User files are
// only replaced whole, by rename, after all lost data in every set have been rebuilt, checked
// and synced. Bytes read for a rebuild are compared with their CRC-32; bytes that do not match
// count as lost. Files of redset have no checksums; then data and spare redundancy must agree,
// or all ranks get a *DoubtError. If losses exceed the scheme, nothing changes and all ranks get
// a *LostError.
//
// Losses count per stripe, not per member: damage in several members can be repaired if
// no stripe lacks more chunks than the scheme tolerates.
//
// docs/format-redset.md describes names, headers and bytes.
//
// Read first: set.go, encode.go, recover.go.
package redset
