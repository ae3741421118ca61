/** As the server writes numbers: with thin spaces between the thousands, where no line breaks. @param {number} number */
export const count = (number) => number.toLocaleString("en").replaceAll(",", "\u202f");
