/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of settings.json, made by the build.
 */
#ifndef DP_AUDIT_SETTINGS_BUILTIN_H
#define DP_AUDIT_SETTINGS_BUILTIN_H

extern const char dp_audit_settings_text[];

#endif
