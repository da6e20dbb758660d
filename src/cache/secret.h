// SPDX-License-Identifier: MIT
// Whose entries are run: those signed with the user's secret, and those that root answers for.
//
// The secret is 32 random bytes in $XDG_CONFIG_HOME/shoal/secret, else .config/shoal/secret in the
// home of the password file. It is made when it is first needed and never leaves the machine's
// disk: archives of entries are not signed.
#ifndef SHOAL_CACHE_SECRET_H
#define SHOAL_CACHE_SECRET_H

#include "base/buf.h"

enum { SECRET_BYTES = 32 };

// Reads the secret; makes it, where there is none, if asked. False: `why` says what is wrong.
bool secret_read(unsigned char secret[SECRET_BYTES], bool create, struct buf *why);

// True when `list`, a file of root's with one absolute path a line, has the open directory. Any
// other owner, or one more who can write to it, makes it no list.
bool secret_listed(const char *list, int directory);

#endif
