/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that has nothing of a BLAS itself, but one behind it.
 */
int fake_front(void);
int fake_front(void)
{
    return 0;
}
