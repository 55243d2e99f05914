/*
 * kernels/constants.h: written by kernels/gen_constants.py, which says how each number follows from the curve.
 * Field elements are limbs in Montgomery form.
 */
#ifndef KERNELS_CONSTANTS_H
#define KERNELS_CONSTANTS_H

/* BN254 */
#define BN254_X_ABS 0x44e992b44a6909f1ull
#define BN254_LOOP \
    {0, -1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 0, -1, 0, 1, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1, \
    0, 0, -1, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, -1, 0, 1, 0, 1, 0, 0, \
    0}
#define BN254_B1 {{0x7a17caa950ad28d7ull, 0x1f6ac17ae15521b9ull, 0x334bea4e696bd284ull, 0x2a1f6744ce179d8eull}}
#define BN254_B2 \
    {{{0x3bf938e377b802a8ull, 0x020b1b273633535dull, \
    0x26b7edf049755260ull, 0x2514c6324384a86dull}}, \
    {{0x38e7ecccd1dcff67ull, 0x65f0b37d93ce0d3eull, \
    0xd749d0dd22ac00aaull, 0x0141b9ce4a688d4dull}}}
#define BN254_HALF {{0x87bee7d24f060572ull, 0xd0fd2add2f1c6ae5ull, 0x8f5f7492fcfd4f44ull, 0x1f37631a3d9cbfacull}}
#define BN254_G1_GENERATOR \
    {{{0xd35d438dc58f0d9dull, 0x0a78eb28f5c70b3dull, \
    0x666ea36f7879462cull, 0x0e0a77c19a07df2full}}, \
    {{0xa6ba871b8b1e1b3aull, 0x14f1d651eb8e167bull, \
    0xccdd46def0f28c58ull, 0x1c14ef83340fbe5eull}}}
#define BN254_G2_GENERATOR \
    {{{{0x8e83b5d102bc2026ull, 0xdceb1935497b0172ull, \
    0xfbb8264797811adfull, 0x19573841af96503bull}}, \
    {{0xafb4737da84c6140ull, 0x6043dd5a5802d8c4ull, \
    0x09e950fc52a02f86ull, 0x14fef0833aea7b6bull}}}, \
    {{{0x619dfa9d886be9f6ull, 0xfe7fd297f59e9b78ull, \
    0xff9e1a62231b7dfeull, 0x28fd7eebae9e4206ull}}, \
    {{0x64095b56c71856eeull, 0xdc57f922327d3cbbull, \
    0x55f935be33351076ull, 0x0da4a0e693fd6482ull}}}}
#define BN254_GAMMA1 \
    {{{0xaf9ba69633144907ull, 0xca6b1d7387afb78aull, \
    0x11bded5ef08a2087ull, 0x02f34d751a1f3a7cull}}, \
    {{0xa222ae234c492d72ull, 0xd00f02a4565de15bull, \
    0xdc2ff3a253dfc926ull, 0x10a75716b3899551ull}}}
#define BN254_GAMMA2 \
    {{{0xb5773b104563ab30ull, 0x347f91c8a9aa6454ull, \
    0x7a007127242e0991ull, 0x1956bcd8118214ecull}}, \
    {{0x6e849f1ea0aa4757ull, 0xaa1c7b6d89f89141ull, \
    0xb6e713cdfae0ca3aull, 0x26694fbb4e82ebc3ull}}}
#define BN254_GAMMA3 \
    {{{0xe4bbdd0c2936b629ull, 0xbb30f162e133bacbull, \
    0x31a9d1b6f9645366ull, 0x253570bea500f8ddull}}, \
    {{0xa1d77ce45ffe77c7ull, 0x07affd117826d1dbull, \
    0x6d16bd27bb7edc6bull, 0x2c87200285defeccull}}}
#define BN254_GAMMA4 \
    {{{0x7361d77f843abe92ull, 0xa5bb2bd3273411fbull, \
    0x9c941f314b3e2399ull, 0x15df9cddbb9fd3ecull}}, \
    {{0x5dddfd154bd8c949ull, 0x62cb29a5a4445b60ull, \
    0x37bc870a0c7dd2b9ull, 0x24830a9d3171f0fdull}}}
#define BN254_GAMMA5 \
    {{{0xc970692f41690fe7ull, 0xe240342127694b0bull, \
    0x32bee66b83c459e8ull, 0x12aabced0ab08841ull}}, \
    {{0x0d485d2340aebfa9ull, 0x05193418ab2fcc57ull, \
    0xd3b0a40b8a4910f5ull, 0x2f21ebb535d2925aull}}}
#define BN254_PSI_X \
    {{{0xb5773b104563ab30ull, 0x347f91c8a9aa6454ull, \
    0x7a007127242e0991ull, 0x1956bcd8118214ecull}}, \
    {{0x6e849f1ea0aa4757ull, 0xaa1c7b6d89f89141ull, \
    0xb6e713cdfae0ca3aull, 0x26694fbb4e82ebc3ull}}}
#define BN254_PSI_Y \
    {{{0xe4bbdd0c2936b629ull, 0xbb30f162e133bacbull, \
    0x31a9d1b6f9645366ull, 0x253570bea500f8ddull}}, \
    {{0xa1d77ce45ffe77c7ull, 0x07affd117826d1dbull, \
    0x6d16bd27bb7edc6bull, 0x2c87200285defeccull}}}

/* BLS381 */
#define BLS381_X_ABS 0xd201000000010000ull
#define BLS381_LOOP \
    {1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
#define BLS381_B1 \
    {{0xaa270000000cfff3ull, 0x53cc0032fc34000aull, 0x478fe97a6b0a807full, \
    0xb1d37ebee6ba24d7ull, 0x8ec9733bbf78ab2full, 0x09d645513d83de7eull}}
#define BLS381_B2 \
    {{{0xaa270000000cfff3ull, 0x53cc0032fc34000aull, 0x478fe97a6b0a807full, \
    0xb1d37ebee6ba24d7ull, 0x8ec9733bbf78ab2full, 0x09d645513d83de7eull}}, \
    {{0xaa270000000cfff3ull, 0x53cc0032fc34000aull, 0x478fe97a6b0a807full, \
    0xb1d37ebee6ba24d7ull, 0x8ec9733bbf78ab2full, 0x09d645513d83de7eull}}}
#define BLS381_HALF \
    {{0x1804000000015554ull, 0x855000053ab00001ull, 0x633cb57c253c276full, \
    0x6e22d1ec31ebb502ull, 0xd3916126f2d14ca2ull, 0x17fbb8571a006596ull}}
#define BLS381_G1_GENERATOR \
    {{{0x5cb38790fd530c16ull, 0x7817fc679976fff5ull, 0x154f95c7143ba1c1ull, \
    0xf0ae6acdf3d0e747ull, 0xedce6ecc21dbf440ull, 0x120177419e0bfb75ull}}, \
    {{0xbaac93d50ce72271ull, 0x8c22631a7918fd8eull, 0xdd595f13570725ceull, \
    0x51ac582950405194ull, 0x0e1c8c3fad0059c0ull, 0x0bbc3efc5008a26aull}}}
#define BLS381_G2_GENERATOR \
    {{{{0xf5f28fa202940a10ull, 0xb3f5fb2687b4961aull, 0xa1a893b53e2ae580ull, \
    0x9894999d1a3caee9ull, 0x6f67b7631863366bull, 0x058191924350bcd7ull}}, \
    {{0xa5a9c0759e23f606ull, 0xaaa0c59dbccd60c3ull, 0x3bb17e18e2867806ull, \
    0x1b1ab6cc8541b367ull, 0xc2b6ed0ef2158547ull, 0x11922a097360edf3ull}}}, \
    {{{0x4c730af860494c4aull, 0x597cfa1f5e369c5aull, 0xe7e6856caa0a635aull, \
    0xbbefb5e96e0d495full, 0x07d3a975f0ef25a2ull, 0x0083fd8e7e80dae5ull}}, \
    {{0xadc0fc92df64b05dull, 0x18aa270a2b1461dcull, 0x86adac6a3be4eba0ull, \
    0x79495c4ec93da33aull, 0xe7175850a43ccaedull, 0x0b2bc2a163de1bf2ull}}}}
#define BLS381_GAMMA1 \
    {{{0x07089552b319d465ull, 0xc6695f92b50a8313ull, 0x97e83cccd117228full, \
    0xa35baecab2dc29eeull, 0x1ce393ea5daace4dull, 0x08f2220fb0fb66ebull}}, \
    {{0xb2f66aad4ce5d646ull, 0x5842a06bfc497cecull, 0xcf4895d42599d394ull, \
    0xc11b9cba40a8e8d0ull, 0x2e3813cbe5a0de89ull, 0x110eefda88847fafull}}}
#define BLS381_GAMMA2 \
    {{{0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull, \
    0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull}}, \
    {{0xcd03c9e48671f071ull, 0x5dab22461fcda5d2ull, 0x587042afd3851b95ull, \
    0x8eb60ebe01bacb9eull, 0x03f97d6e83d050d2ull, 0x18f0206554638741ull}}}
#define BLS381_GAMMA3 \
    {{{0x7bcfa7a25aa30fdaull, 0xdc17dec12a927e7cull, 0x2f088dd86b4ebef1ull, \
    0xd1ca2087da74d4a7ull, 0x2da2596696cebc1dull, 0x0e2b7eedbbfd87d2ull}}, \
    {{0x7bcfa7a25aa30fdaull, 0xdc17dec12a927e7cull, 0x2f088dd86b4ebef1ull, \
    0xd1ca2087da74d4a7ull, 0x2da2596696cebc1dull, 0x0e2b7eedbbfd87d2ull}}}
#define BLS381_GAMMA4 \
    {{{0x890dc9e4867545c3ull, 0x2af322533285a5d5ull, 0x50880866309b7e2cull, \
    0xa20d1b8c7e881024ull, 0x14e4f04fe2db9068ull, 0x14e56d3f1564853aull}}, \
    {{0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull, \
    0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull}}}
#define BLS381_GAMMA5 \
    {{{0x82d83cf50dbce43full, 0xa2813e53df9d018full, 0xc6f0caa53c65e181ull, \
    0x7525cf528d50fe95ull, 0x4a85ed50f4798a6bull, 0x171da0fd6cf8eebdull}}, \
    {{0x3726c30af242c66cull, 0x7c2ac1aad1b6fe70ull, 0xa04007fbba4b14a2ull, \
    0xef517c3266341429ull, 0x0095ba654ed2226bull, 0x02e370eccc86f7ddull}}}
#define BLS381_PSI_X \
    {{{0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull, \
    0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull}}, \
    {{0x890dc9e4867545c3ull, 0x2af322533285a5d5ull, 0x50880866309b7e2cull, \
    0xa20d1b8c7e881024ull, 0x14e4f04fe2db9068ull, 0x14e56d3f1564853aull}}}
#define BLS381_PSI_Y \
    {{{0x3e2f585da55c9ad1ull, 0x4294213d86c18183ull, 0x382844c88b623732ull, \
    0x92ad2afd19103e18ull, 0x1d794e4fac7cf0b9ull, 0x0bd592fc7d825ec8ull}}, \
    {{0x7bcfa7a25aa30fdaull, 0xdc17dec12a927e7cull, 0x2f088dd86b4ebef1ull, \
    0xd1ca2087da74d4a7ull, 0x2da2596696cebc1dull, 0x0e2b7eedbbfd87d2ull}}}
#define BLS381_BETA \
    {{0x30f1361b798a64e8ull, 0xf3b8ddab7ece5a2aull, 0x16a8ca3ac61577f7ull, \
    0xc26a2ff874fd029bull, 0x3636b76660701c6eull, 0x051ba4ab241b6160ull}}

#endif
